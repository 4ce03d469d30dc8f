"""Keeps the quotas that the monitor sees, and how fast each is used up, also over a restart."""

from collections.abc import Callable
from pathlib import Path

import structlog

from ses_service.feeds.monitor_answer import MonitorError
from ses_service.feeds.monitor_quotas import MonitorQuotas
from ses_service.model.quotas import Quota, QuotaSource
from ses_service.process.space import Space

_SECONDS = 60.0  # between two looks
_OLD = 3600.0  # what is seen no more since then does not show how fast it is used up
_log = structlog.get_logger("ses_service")


class Quotas:
    """Asks the monitor.  All methods may be called from any thread."""

    def __init__(self, monitor: MonitorQuotas, clock: Callable[[], float], path: Path | None = None) -> None:
        self._monitor = monitor
        self._clock = clock
        self._trend = Space(path)
        self.seen: tuple[Quota, ...] = ()
        self.sources: tuple[QuotaSource, ...] = ()
        self.problem = ""

    def step(self) -> float:
        """Ask once; return the seconds to wait before the next time."""
        try:
            quotas, sources = self._monitor.read()
        except MonitorError as error:
            if str(error) != self.problem:
                _log.warning("quotas cannot be read", detail=str(error))
            self.problem = str(error)
        else:
            self.take(quotas, sources)
        return _SECONDS

    def take(self, quotas: list[Quota], sources: list[QuotaSource]) -> None:
        """Take quotas as they are now."""
        now = self._clock()
        self.seen, self.sources, self.problem = tuple(quotas), tuple(sources), ""
        # By what is used, so that a limit that is changed does not look like a file that was written.
        self._trend.record([(quota.key, -quota.used) for quota in quotas if now - quota.at < _OLD], now)

    def changes(self) -> dict[str, float]:
        """Return by key how what is left of quotas changes, in bytes a day; of those of which it is known."""
        return self._trend.changes(self._clock())
