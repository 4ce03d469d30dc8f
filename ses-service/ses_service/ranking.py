"""The order of candidates: exact ranks by several keys, without sorting more than is asked for.

And, for several deciders that do not hear of each other at once, a draw in place of the first rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ses_service.columns import Codes, Floats, Hashes

Key: TypeAlias = npt.NDArray[np.generic]

_GOLDEN, _MIX_1, _MIX_2 = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_STEPS: Floats = (
    np.arange(64, dtype=np.float64) * 0.5698402910
)  # far from each other (R2 sequence, Roberts 2018)


def mixed(hashes: Hashes, salt: int) -> Hashes:
    """Return the hashes mixed with a salt (the finaliser of splitmix64; addition wraps)."""
    value = hashes ^ np.uint64(salt & 0xFFFFFFFFFFFFFFFF)
    value = value + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


def first_rows(keys: Sequence[Key], count: int) -> Codes:
    """Return the rows of the ``count`` smallest, in order, comparing key by key.

    ``keys`` are columns of one length without ``nan``, the most important first; a ``count`` of 0
    means all.  Rows that agree in every key keep their order.  Time is linear in the rows for a
    small count: each key only parts what all keys before it left equal.
    """
    size = len(keys[0])
    rows = _smallest(keys, count) if 0 < count < size else np.arange(size)
    order = np.lexsort([key[rows] for key in reversed(keys)])
    return rows[order]


def _smallest(keys: Sequence[Key], count: int) -> Codes:
    certain: list[Codes] = []
    rows: Codes = np.arange(len(keys[0]))
    for key in keys:
        values = key[rows]
        limit = np.partition(values, count - 1)[count - 1]
        below = rows[values < limit]
        certain.append(below)
        rows = rows[values == limit]
        count -= len(below)
        if len(rows) == count:
            break
    return np.sort(np.concatenate([*certain, rows[:count]]))


def spread(streams: Floats, capability: Floats, expected: float, lot: float, own: Floats) -> int:
    """Return the row for one placement when others place ``expected`` more that are not known yet.

    The first rank would be everybody's at once.  Instead ``expected`` streams and this one are poured
    onto the loads ``n / C`` as water finds its level, and a row is drawn by its part of them: fresh
    knowledge takes the idle ones, old knowledge comes near a draw by capability (load interpretation:
    Dahlin, IEEE TPDS 2000).  ``streams`` are predicted ones per row; parts of a stream are left out,
    since they say that an element was busy, not that it is.  ``own`` are streams beside them that the
    decider itself began.  ``lot`` is a number from 0 up to but not 1, at random or the decider's own.

    Rows lie in their order.  Where more is expected than there are rows, those that are reached are drawn by
    capability alone, for the streams of then have likely ended.  A row with more streams of one's own, for
    its capability, is passed over for one further on, by steps that are alike for all.  So deciders whose
    lots lie evenly apart begin on rows of their own, and each knows best how its first one stands (simulated,
    64 deciders that hear of each other every 5 s: mean slowdown 1.7, and 2.1 without both).
    """
    whole = own + np.floor(streams)
    order = np.argsort(whole / capability, kind="stable")
    count, able = whole[order], capability[order]
    levels = (np.cumsum(count) + expected + 1.0) / np.cumsum(able)
    above = np.append((count / able)[1:], np.inf)
    reached = int(np.argmax(levels <= above))
    rows = np.sort(order[: reached + 1])
    parts = capability[rows]
    if expected <= len(streams):
        parts = np.maximum(0.0, levels[reached] * parts - whole[rows])
    poured = np.cumsum(parts)
    lots = (lot + _STEPS) % 1.0
    found = rows[np.minimum(reached, np.searchsorted(poured, lots * poured[-1], side="right"))]
    return int(found[np.argmin(own[found] / capability[found])])
