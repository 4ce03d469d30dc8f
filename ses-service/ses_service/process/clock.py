"""Seconds since the epoch for a service that runs on while the machine's clock is set.

Leases, silences and ages are differences of times. Were they taken from a clock that jumps by hours, every
lease would run out at once, or none for hours.
"""

import threading
import time
from collections.abc import Callable

import structlog

_FOLLOWS = 0.1
"""By how much of the time that passes the clock is put right: a lease is a tenth off at most."""

_FAR = 60.0  # seconds that are worth a line in the log
_log = structlog.get_logger("ses_service")


class SlewedClock:
    """Seconds since the epoch; after a jump of ``wall`` it goes a tenth faster or slower until it is right.

    Never goes back.  ``steady`` is a clock that nobody sets.  May be called from any thread.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._looked, self._shown = steady(), wall()
        self._is_far = False

    def __call__(self) -> float:
        """Return the time."""
        with self._lock:
            now = self._steady()
            passed = max(0.0, now - self._looked)
            behind = self._wall() - self._shown - passed
            self._looked = now
            self._shown += passed + max(-_FOLLOWS * passed, min(behind, _FOLLOWS * passed))
            shown, was_far, self._is_far = self._shown, self._is_far, abs(behind) > _FAR
        if not was_far and abs(behind) > _FAR:
            _log.warning(
                "the machine's clock was set; times of records follow it by six minutes an hour, a restart"
                " takes it over at once",
                by_seconds=round(behind),
            )
        return shown
