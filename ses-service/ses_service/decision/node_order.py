"""An order of elements of a node's own, so that nodes that learn of each other late differ."""

import numpy as np

from ses_service.model.columns import Codes, Floats

GOLDEN_PART = 0.6180339887498949
_ROUNDS = 4  # of the line, in which rows with fewer streams are looked for


def start_of(number: int) -> float:
    """Return where a node's order begins, from 0 up to but not 1: any first few lie evenly apart.

    The bits of its number, the lowest first behind the point (van der Corput, Amsterdam Proc. 38, 1935).
    """
    return int(f"{number:032b}"[::-1], 2) / 2.0**32


def order_of_own(capability: Floats, start: float) -> Codes:
    """Return all rows in a decider's own order, by which deciders differ without a message.

    Rows lie along a line, each as wide as its capability, and the order visits the places ``start + k^2 phi``
    of it, ``k`` = 0, 1, ..., 4 ``M`` - 1 (squares of whole numbers times an irrational one come everywhere
    alike: Weyl, Mathematische Annalen 77, 1916).  So fast rows tend to come first, and of deciders with
    starts evenly apart each begins on a row of its own.  Equal steps would let them follow each other all
    along.  Rows too narrow to be visited come last, in their order.  ``start`` is a number from 0 up to but
    not 1.
    """
    size = len(capability)
    line = np.cumsum(capability)
    steps = np.arange(4 * size, dtype=np.float64)
    visits = (start + steps * steps * GOLDEN_PART) % 1.0 * line[-1]
    visited = np.minimum(size - 1, np.searchsorted(line, visits, side="right"))
    first = np.arange(4 * size, 5 * size)
    first[visited[::-1]] = np.arange(4 * size)[::-1]  # of several visits the last one written is the first
    return np.argsort(first)


def first_of_own(capability: Floats, streams: Floats, start: float, limit: int) -> Codes:
    """Return ``limit`` of many rows, in a decider's own order: those with the fewest whole ``streams``.

    They lie evenly apart on the line, and so do those of deciders with starts evenly apart together.  Where
    rows have more streams than others in so many rounds of the line, each from an other place, those come
    in.  All rows, where there are no more than are wanted.
    """
    size = len(capability)
    rows = np.arange(size)
    if size > limit:
        line = np.cumsum(capability)
        begins = (start + np.arange(_ROUNDS) * GOLDEN_PART) % 1.0
        visits = (begins[:, None] + np.arange(limit)).ravel() / limit * line[-1]
        visited = np.minimum(size - 1, np.searchsorted(line, visits, side="right"))
        rows = np.fromiter(dict.fromkeys(visited.tolist()), np.int64)
        if len(rows) < limit:  # a few are so wide that others are hardly visited
            rows = np.concatenate([rows, np.setdiff1d(np.arange(size), rows)])
        rows = rows[np.argsort(np.floor(streams[rows]), kind="stable")[:limit]]
    return rows[order_of_own(capability[rows], start)] if size else rows
