"""From counters to rates.  Pure: the same samples give the same rates, whatever the time of day.

A rate is an exponentially weighted mean over *measured* time (never the nominal period): with a
window of tau seconds, what happened x seconds ago weighs exp(-x/tau).  The mean is divided by the
weight seen so far, so that it is unbiased from the first interval on instead of ramping up from 0.

What this cannot know: a counter that was reset and has already grown past its old value looks like
a small increase, so the rate of that one interval comes out too low, never too high (unless the
source says when its counters began).

Whether a mask has any row is asked with ``count_nonzero``, which on tens of rows takes a third of the time
of ``any``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Windows:
    """Time constants in seconds, and the longest interval that may still count as "current"."""

    current: float
    average: float
    max_gap: float


class Rates(NamedTuple):
    """The histories of counters that are looked at together, folded; never changed.

    All but ``at`` have one row per element and one column per counter.  ``last`` is what a counter
    showed ``at`` (one per element), NaN while its next value has nothing to be compared with.  A mean is
    its total over its weight.
    """

    last: Table
    at: Table
    current: Table
    current_weight: Table
    average: Table
    average_weight: Table

    def current_means(self) -> Table:
        """The means over the short window; NaN before the first interval."""
        return _means(self.current, self.current_weight)

    def average_means(self) -> Table:
        """The means over the long window; NaN before the first interval."""
        return _means(self.average, self.average_weight)


def _means(total: Table, weight: Table) -> Table:
    means = np.full_like(total, np.nan)
    np.divide(total, weight, out=means, where=weight > 0)
    return means


def unseen(elements: int, counters: int) -> Rates:
    """``counters`` of each of ``elements``, of which nothing is known."""
    nothing = np.zeros((elements, counters))
    return Rates(np.full_like(nothing, np.nan), np.zeros(elements), nothing, nothing, nothing, nothing)


def increase(previous: Table, values: Table, reset: Rows | None = None) -> Table:
    """How far counters moved: after a reset (they went down) they moved from 0 to ``values``.

    ``reset`` names rows known to have begun at 0 since, however high they are.  NaN where either is.
    """
    moved = values - previous
    again = moved < 0
    if reset is not None and np.count_nonzero(reset):
        again |= reset[:, None] & ~np.isnan(moved)
    np.copyto(moved, values, where=again)
    return moved


def observe(rates: Rates, values: Table, at: float, windows: Windows, reset: Rows | None = None) -> Rates:
    """``rates`` after the counters showed ``values`` at ``at`` (monotonic seconds).

    ``reset`` names the rows known to have begun at 0 since the last values, however high they are.

    The first value of a counter, and the first after one the target did not report (NaN), only
    start an interval.  A sample that is not later than an element's last one is ignored.  After an
    interval longer than ``windows.max_gap`` the current rate is unknown again: a mean over minutes
    says nothing about now.  The average takes the gap in with its full length.
    """
    seconds = at - rates.at
    early = seconds <= 0
    if np.count_nonzero(early):
        late = observe(rates._replace(at=np.where(early, -np.inf, rates.at)), values, at, windows, reset)
        return chosen(early & ~np.isnan(rates.last).all(axis=1), rates, late)
    speeds = increase(rates.last, values, reset) / seconds[:, None]
    unknown = np.isnan(speeds)
    whole = not np.count_nonzero(unknown)
    kept = np.exp(seconds / -windows.average)[:, None]
    average, average_weight = _folded(rates.average, rates.average_weight, speeds, kept)
    if not whole:
        average = np.where(unknown, rates.average, average)
        average_weight = np.where(unknown, rates.average_weight, average_weight)
    kept = np.exp(seconds / -windows.current)[:, None]
    current, current_weight = _folded(rates.current, rates.current_weight, speeds, kept)
    gap = seconds > windows.max_gap
    if not whole or np.count_nonzero(gap):
        unknown = unknown | gap[:, None]
        current[unknown] = 0.0
        current_weight[unknown] = 0.0
    return Rates(values, np.full_like(seconds, at), current, current_weight, average, average_weight)


def _folded(total: Table, weight: Table, speeds: Table, kept: Table) -> tuple[Table, Table]:
    gain = 1 - kept
    return total * kept + speeds * gain, weight * kept + gain


def chosen(rows: Rows, rates: Rates, other: Rates) -> Rates:
    """``one`` in ``rows``, ``other`` elsewhere."""
    if not np.count_nonzero(rows):
        return other
    return Rates(
        *(
            np.where(rows[:, None] if mine.ndim > 1 else rows, mine, theirs)
            for mine, theirs in zip(rates, other, strict=True)
        )
    )


def restarted(rates: Rates, rows: Rows) -> Rates:
    """``rates`` when the next values of ``rows`` cannot be compared with the last: averages are kept."""
    fresh = unseen(*rates.last.shape)
    return chosen(rows, fresh._replace(average=rates.average, average_weight=rates.average_weight), rates)
