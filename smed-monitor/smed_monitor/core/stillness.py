"""Counters that stand still while space is used up: they are not those of where the files go.  Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smed_monitor.core.rates import Rows, Table
from smed_monitor.core.readings import FREE, READ, WRITTEN

USED_UP = 16 * 2**20  # bytes; less may be what a file system keeps for itself
PATIENCE = 40.0  # seconds: what is written is on the device after 35, unless vm.dirty_* says otherwise
NO_RATES = "no rates: space is used up here while the counters of {} stand still, so its load is not seen"


class Stillness(NamedTuple):
    """One item per element: what was free when its counters moved last, and since when less is (or NaN)."""

    free: Table
    since: Table

    def after(self, last: Table, numbers: Table, at: float) -> Stillness:
        """Once the numbers of readings are ``numbers`` instead of ``last``, at a monotonic time."""
        moved = numbers[:, READ : WRITTEN + 1] - last[:, READ : WRITTEN + 1]
        still = (np.nan_to_num(moved) == 0).all(axis=1) & ~np.isnan(moved).all(axis=1)
        if not np.count_nonzero(still):
            return Stillness(numbers[:, FREE], np.full(len(still), np.nan))
        free = np.where(still, np.fmax(self.free, numbers[:, FREE]), numbers[:, FREE])
        used = still & (free - numbers[:, FREE] >= USED_UP)
        return Stillness(free, np.where(used, np.fmin(self.since, at), np.nan))

    def blind(self, at: float) -> Rows:
        """The elements whose counters say nothing of what is written there."""
        still: Rows = at - self.since >= PATIENCE
        return still


def unwatched(elements: int) -> Stillness:
    """Return the state of ``elements`` of which nothing is known yet."""
    return Stillness(np.full(elements, np.nan), np.full(elements, np.nan))
