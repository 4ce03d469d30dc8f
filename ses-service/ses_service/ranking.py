"""The order of candidates: exact ranks by several keys, without sorting more than is asked for.

And, for several deciders that do not hear of each other at once, a draw in place of the first rank.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
_GOLDEN_PART = 0.6180339887
_FEWEST, _MOST = 2, 64
_KEEPS_FIRST = 0.5, 0.9  # streams
_JUST_OPENED = 0.1  # seconds
_TINY = 1e-9


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


def still_open(ages: Floats, unheard: float) -> Floats:
    """Return the chance that files are still open of which nothing was heard for ``unheard`` seconds.

    ``ages`` are the seconds they had been open at the last word.  Who knows nothing of how long a thing
    lasts but that it has lasted ``a`` takes it to last ``u`` more with the chance ``a / (a + u)`` (Gott,
    Nature 363, 1993); 0.1 s are added to ``a``, as what was just opened is there.
    """
    lasted = np.maximum(0.0, ages) + _JUST_OPENED
    return lasted / (lasted + unheard)


def lot_among(name: str, others: Collection[str]) -> float:
    """Return the lot of the decider ``name`` beside ``others``: a number from 0 up to but not 1.

    By its rank among the names, so that the lots of deciders who all hear of each other lie evenly apart
    though nobody deals them.  One that comes or goes moves the lots of the rest by less than their distance.
    Who has not heard of all is no worse off than with a lot at random.
    """
    before = sum(other < name for other in others)
    return (before + 0.5) / (len(others) + 1)


def order_of_own(capability: Floats, lot: float) -> Codes:
    """Return all rows in a decider's own order, by which deciders differ without a word.

    Rows lie along a line, each as wide as its capability, and the order visits the places ``lot + k^2 phi``
    of it, ``k`` = 0, 1, ..., 4 ``M`` - 1 (squares of whole numbers times an irrational one come everywhere
    alike: Weyl, Mathematische Annalen 77, 1916).  So fast rows tend to come first, and of deciders whose lots
    lie evenly apart each begins on a row of its own.  Equal steps would let them follow each other all along.
    Rows too narrow to be visited come last, in their order.  ``lot`` is a number from 0 up to but not 1.
    """
    size = len(capability)
    line = np.cumsum(capability)
    steps = np.arange(4 * size, dtype=np.float64)
    visits = (lot + steps * steps * _GOLDEN_PART) % 1.0 * line[-1]
    visited = np.minimum(size - 1, np.searchsorted(line, visits, side="right"))
    first = np.arange(4 * size, 5 * size)
    first[visited[::-1]] = np.arange(4 * size)[::-1]  # of several visits the last one written is the first
    return np.argsort(first)


def spread(order: Codes, own: Floats, others: Floats, capability: Floats, unheard: float) -> int:
    """Return the row for one placement when others place ``unheard`` more that are not known yet.

    The first rank would be everybody's at once.  Instead the least loaded of a few rows is taken, and
    these are the fewer the more is unheard: ``d = clamp(round(M / unheard), 2, 64)`` of ``M`` (two choices:
    Mitzenmacher, IEEE TPDS 2001; how many, for old knowledge: Dahlin, IEEE TPDS 2000).  Load is streams over
    capability: ``own`` are the decider's on each row, ``others`` those of everybody else, each counted by the
    chance that it is there (:func:`still_open`).

    The few are the first of the decider's ``order`` (:func:`order_of_own`), those with less of its own before
    the rest: of these it knows best how they stand.  Rows that carry more than any would get if others spread
    their files evenly are left out.  The first of the few is left only for one that is better by as
    many streams as others place there meanwhile, at least 0.5 and at most 0.9: within that their word says
    next to nothing.
    """
    streams = own + others
    reached = order[(streams <= _level(streams, capability, unheard + 1.0) * capability)[order]]
    most = round(min(float(_MOST), len(reached) / max(unheard, _TINY)))
    few = reached[(own[reached] / capability[reached]).argsort(kind="stable")[: max(_FEWEST, most)]]
    load = streams[few]
    load[1:] += min(max(unheard / len(capability), _KEEPS_FIRST[0]), _KEEPS_FIRST[1])
    return int(few[(load / capability[few]).argmin()])


def _level(streams: Floats, capability: Floats, more: float) -> float:
    """Return the highest load when ``more`` streams are poured onto rows as water finds its level."""
    loads = streams / capability
    order = loads.argsort()
    levels = (streams[order].cumsum() + more) / capability[order].cumsum()
    above = np.full(len(streams), np.inf)
    above[:-1] = loads[order[1:]]
    return float(levels[(levels <= above).argmax()])
