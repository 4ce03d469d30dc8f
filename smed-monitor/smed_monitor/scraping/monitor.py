"""The running monitor: settings, table and scheduler put together.  Knows nothing of HTTP servers."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog

from smed_monitor.collectors.base import Collector
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import Settings
from smed_monitor.core.capability import Best, better
from smed_monitor.core.model import Outcome
from smed_monitor.quotas.watch import Quotas
from smed_monitor.scraping.scheduler import Scheduler
from smed_monitor.scraping.scrape import scrapers, windows_of
from smed_monitor.state.history import Ring
from smed_monitor.state.recorder import Recorder
from smed_monitor.state.statefile import NAME, StateError, load
from smed_monitor.state.table import Table

log = structlog.get_logger(__name__)


class Monitor:
    """Made once per process; ``start`` it there, after any fork."""

    def __init__(
        self,
        settings: Settings,
        collectors: Mapping[str, Collector[Any]] = COLLECTORS,
        *,
        state_dir: Path | None = None,
    ) -> None:
        """``state_dir`` keeps history and what was learned over a restart."""
        self.settings = settings
        self.instance = secrets.token_hex(4)
        self.windows = windows_of(settings)
        self.ring = Ring(settings.history.points)
        path = state_dir / NAME if state_dir else None
        self._scrapers = scrapers(settings, collectors, self._taken_up(path))
        # The table keeps the order of the settings, whatever the order of the targets.
        first = {(s.target.name, r.element): r for s in self._scrapers for r in s.records()}
        self.table = Table(
            targets=[target.name for target in settings.targets],
            records=[
                (name, first[name, element.id]) for element in settings.elements for name in element.targets
            ],
            stale_after_seconds=settings.stale_after_seconds,
        )
        self._scheduler = Scheduler(
            self._scrapers,
            interval_seconds=settings.interval_seconds,
            concurrent_scrapes=settings.concurrent_scrapes,
            publish=self._publish,
            skip=self.table.skipped,
        )
        self.quotas = Quotas(settings.quotas)
        self._recorder = Recorder(
            self.table,
            self.ring,
            period_seconds=settings.history.period_seconds,
            look_seconds=max(settings.interval_seconds, settings.current_window_seconds),
            learned=self.learned,
            path=path,
        )

    @property
    def running(self) -> bool:
        """Whether targets are being scraped."""
        return self._scheduler.running

    def start(self) -> None:
        """Begin to scrape, in threads of this process."""
        self._scheduler.start()
        self._recorder.start()
        self.quotas.start()

    def stop(self) -> None:
        """Let waiters go, finish the scrapes under way, close connections, save."""
        self.table.close()
        self._scheduler.stop()
        self._recorder.stop()
        self.quotas.stop()

    def learned(self) -> dict[str, Best]:
        """The best rates seen of each element, at whatever target."""
        best: dict[str, Best] = {}
        for scraper in self._scrapers:
            for name, rates in scraper.learned().items():
                best[name] = better(best.get(name, Best()), rates)
        return best

    def _taken_up(self, path: Path | None) -> Mapping[str, Best]:
        """Fill the ring from the file of an earlier run; what that run had learned."""
        try:
            state = load(path) if path else None
        except StateError as error:
            log.warning("state-refused", path=str(path), detail=f"{error}; starting with no history")
            return {}
        if state is None:
            return {}
        self.ring.fill(state.history)
        log.info("state-taken-up", elements=len(state.history.names), learned=len(state.learned))
        return state.learned

    def scrape_once(self) -> None:
        """Ask every target once, one after the other, without starting."""
        for scraper in self._scrapers:
            self.table.publish(scraper.scrape())
            scraper.close()

    def _publish(self, outcome: Outcome) -> None:
        before = self.table.publish(outcome)
        if outcome.error and outcome.error != before:
            log.warning("target-failed", target=outcome.target, reason=outcome.reason, detail=outcome.error)
        elif before and not outcome.error:
            log.info("target-recovered", target=outcome.target)
