"""Keeps the garbage collector from stopping everything: what lives on is set aside once a second.

Python looks through every object that lives each time a quarter more have come to live, which takes 70 ms
with 10,000 elements, and more with the explanations of many placements.  They are freed when nothing refers
to them, without the collector, so it need not look at them: what has survived is frozen.  What is frozen and
later becomes a circle of garbage stays, which is little; once an hour everything is looked through.

In between the collector looks often and at little, since everybody waits while it does: what survives its
first look is looked at once more after three of them, and not again before it is set aside.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from ses_service.threads.loop import Loop

_PAUSE = 1.0
_HOUR = 3600.0
_THRESHOLDS = (350, 2, 1000)  # a look takes a quarter of a millisecond at most


class Collector:
    """Freezes what lives, each time ``step`` is called; looks through all of it once an ``interval``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, interval: float = _HOUR) -> None:
        self._clock = clock
        self._interval = interval
        self._looked = clock()

    def step(self) -> float:
        """Do so once; return the seconds to wait before the next time."""
        now = self._clock()
        if now - self._looked >= self._interval:
            self._looked = now
            gc.unfreeze()
            gc.collect()
        else:
            gc.collect(0)
        gc.freeze()
        return _PAUSE


def collecting() -> Loop:
    """Return a loop that keeps the collector quiet from when it is started."""
    gc.set_threshold(*_THRESHOLDS)
    gc.collect()
    gc.freeze()
    return Loop("memory", Collector().step)
