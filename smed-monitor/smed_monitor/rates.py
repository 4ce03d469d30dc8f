"""From counters to rates.  Pure: the same samples give the same rates, whatever the time of day.

A rate is an exponentially weighted mean over *measured* time (never the nominal period): with a
window of tau seconds, what happened x seconds ago weighs exp(-x/tau).  The mean is divided by the
weight seen so far, so that it is unbiased from the first interval on instead of ramping up from 0.

What this cannot know: a counter that was reset and has already grown past its old value looks like
a small increase, so the rate of that one interval comes out too low, never too high (unless the
source says when its counters began).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Windows:
    """Time constants in seconds, and the longest interval that may still count as "current"."""

    current: float
    average: float
    longest_gap: float


@lru_cache(maxsize=256)
def _kept(seconds: float, window: float) -> float:
    """The weight of what was; the counters of one sample all ask for the same."""
    return exp(-seconds / window)


class Mean(NamedTuple):
    """A time-weighted mean of a rate that is constant between samples."""

    total: float = 0.0
    weight: float = 0.0

    @property
    def value(self) -> float | None:
        """The mean so far; ``None`` before the first interval."""
        return self.total / self.weight if self.weight > 0 else None


class Rate(NamedTuple):
    """The history of one counter, folded."""

    last: float | None = None
    at: float = 0.0
    current: Mean = Mean()
    average: Mean = Mean()


def increase(previous: float, value: float) -> float:
    """How far a counter moved: after a reset (it went down) it moved from 0 to ``value``."""
    return value - previous if value >= previous else value


def observe(rate: Rate, value: float | None, at: float, windows: Windows, *, reset: bool = False) -> Rate:
    """``rate`` after the counter showed ``value`` at ``at`` (monotonic seconds).

    ``reset`` says that the counter is known to have begun at 0 since the last value, however high it is.

    The first value, and the first after one the target did not report (``None``), only start an
    interval.  A sample that is not later than the last one is ignored.  After an interval longer
    than ``windows.longest_gap`` the current rate is unknown again: a mean over minutes says nothing
    about now.  The average takes the gap in with its full length.
    """
    if value is None:
        return restarted(rate)
    if rate.last is None:
        return Rate(last=value, at=at, current=rate.current, average=rate.average)
    seconds = at - rate.at
    if seconds <= 0:
        return rate
    speed = (value if reset else increase(rate.last, value)) / seconds
    # Written out instead of a method of Mean: 50,000 counters come through here every second.
    kept, current, average = _kept(seconds, windows.average), rate.current, rate.average
    average = Mean(average.total * kept + speed * (1 - kept), average.weight * kept + (1 - kept))
    if seconds > windows.longest_gap:
        return Rate(value, at, Mean(), average)
    kept = _kept(seconds, windows.current)
    current = Mean(current.total * kept + speed * (1 - kept), current.weight * kept + (1 - kept))
    return Rate(value, at, current, average)


def restarted(rate: Rate) -> Rate:
    """``rate`` when the next value cannot be compared with the last: only the average is kept."""
    return Rate(average=rate.average)
