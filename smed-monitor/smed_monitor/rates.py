"""From counters to rates.  Pure: the same samples give the same rates, whatever the time of day.

A rate is an exponentially weighted mean over *measured* time (never the nominal period): with a
window of tau seconds, what happened x seconds ago weighs exp(-x/tau).  The mean is divided by the
weight seen so far, so that it is unbiased from the first interval on instead of ramping up from 0.

What this cannot know: a counter that was reset and has already grown past its old value looks like
a small increase, so the rate of that one interval comes out too low, never too high (unless the
source says when its counters began).
"""

from __future__ import annotations

from collections.abc import Sequence
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


@lru_cache(maxsize=256)
def _grown(weights: tuple[float, ...], kept: float) -> tuple[float, ...]:
    """The weights after an interval; the elements of one sample ask for the same, and share the answer."""
    return tuple(weight * kept + (1 - kept) for weight in weights)


class Rates(NamedTuple):
    """The histories of several counters that are looked at together, folded.

    Every list has one item per counter and is never changed.  ``last`` is what a counter showed ``at``,
    ``None`` while its next value has nothing to be compared with.  A mean is its total over its weight.
    """

    last: list[float | None]
    at: float
    current: list[float]
    current_weight: tuple[float, ...]
    average: list[float]
    average_weight: tuple[float, ...]

    def current_mean(self, counter: int) -> float | None:
        """The mean over the short window; ``None`` before the first interval."""
        weight = self.current_weight[counter]
        return self.current[counter] / weight if weight > 0 else None

    def average_mean(self, counter: int) -> float | None:
        """The mean over the long window; ``None`` before the first interval."""
        weight = self.average_weight[counter]
        return self.average[counter] / weight if weight > 0 else None


def unseen(counters: int) -> Rates:
    """``counters`` of which nothing is known."""
    nothing, none = [0.0] * counters, (0.0,) * counters
    return Rates([None] * counters, 0.0, nothing, none, nothing, none)


def increase(previous: float, value: float) -> float:
    """How far a counter moved: after a reset (it went down) it moved from 0 to ``value``."""
    return value - previous if value >= previous else value


def observe(
    rates: Rates, values: Sequence[float | None], at: float, windows: Windows, *, reset: bool = False
) -> Rates:
    """``rates`` after the counters showed ``values`` at ``at`` (monotonic seconds).

    ``reset`` says that they are known to have begun at 0 since the last values, however high they are.

    The first value of a counter, and the first after one the target did not report (``None``), only
    start an interval.  A sample that is not later than the last one is ignored.  After an interval
    longer than ``windows.longest_gap`` the current rate is unknown again: a mean over minutes says
    nothing about now.  The average takes the gap in with its full length.
    """
    seconds = at - rates.at
    if seconds <= 0 and any(last is not None for last in rates.last):
        return rates
    # Lists written out instead of a method of one mean: 50,000 counters come through here every second.
    speeds = [
        None
        if value is None or last is None
        else (value - last if value >= last and not reset else value) / seconds
        for last, value in zip(rates.last, values, strict=True)
    ]
    kept = _kept(seconds, windows.average)
    gain = 1 - kept
    average = [
        mean if speed is None else mean * kept + speed * gain
        for mean, speed in zip(rates.average, speeds, strict=True)
    ]
    whole = None not in speeds
    average_weight = _grown(rates.average_weight, kept)
    if not whole:
        average_weight = tuple(
            was if speed is None else weight
            for was, weight, speed in zip(rates.average_weight, average_weight, speeds, strict=True)
        )
    if seconds > windows.longest_gap:
        none = (0.0,) * len(speeds)
        return Rates(list(values), at, list(none), none, average, average_weight)
    kept = _kept(seconds, windows.current)
    gain = 1 - kept
    current = [
        0.0 if speed is None else mean * kept + speed * gain
        for mean, speed in zip(rates.current, speeds, strict=True)
    ]
    current_weight = _grown(rates.current_weight, kept)
    if not whole:
        current_weight = tuple(
            0.0 if speed is None else weight for weight, speed in zip(current_weight, speeds, strict=True)
        )
    return Rates(list(values), at, current, current_weight, average, average_weight)


def restarted(rates: Rates) -> Rates:
    """``rates`` when the next values cannot be compared with the last: only the averages are kept."""
    return unseen(len(rates.last))._replace(average=rates.average, average_weight=rates.average_weight)
