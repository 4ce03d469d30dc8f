"""The running monitor: settings, table and scheduler put together.  Knows nothing of HTTP servers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import structlog

from smed_monitor.collectors.base import Collector
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.model import Outcome
from smed_monitor.scheduler import Scheduler
from smed_monitor.scrape import scrapers
from smed_monitor.settings import Settings
from smed_monitor.table import Table

log = structlog.get_logger(__name__)


class Monitor:
    """Made once per process; ``start`` it there, after any fork."""

    def __init__(self, settings: Settings, collectors: Mapping[str, Collector[Any]] = COLLECTORS) -> None:
        self.settings = settings
        self.instance = secrets.token_hex(4)
        self.gather_seconds = settings.gather_seconds
        self._scrapers = scrapers(settings, collectors)
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

    @property
    def running(self) -> bool:
        """Whether targets are being scraped."""
        return self._scheduler.running

    def start(self) -> None:
        """Begin to scrape, in threads of this process."""
        self._scheduler.start()

    def stop(self) -> None:
        """Let waiters go, finish the scrapes under way, close connections."""
        self.table.close()
        self._scheduler.stop()

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
