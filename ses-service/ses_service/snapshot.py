"""A small picture of the site for a node that may have to decide alone.

A sample, not the best: nodes that all know the same best elements would all go there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ses_service.columns import STATES
from ses_service.evaluation import Offers
from ses_service.model import Element, ElementState, Kind

_USABLE = [STATES.index(state) for state in (ElementState.ACTIVE, ElementState.DEGRADED)]


@dataclass(frozen=True, slots=True)
class Sampled:
    """One element as it is now.  Rates are bytes per second, ``free`` bytes; ``None``: unknown."""

    element: Element
    available_read: float | None
    available_write: float | None
    free: float | None


def sample(offers: Offers, count: int, draw: np.random.Generator) -> list[Sampled]:
    """Draw up to ``count`` different elements that can take files, weighted by capability.

    Weighted sampling without replacement by exponential keys (Efraimidis and Spirakis, Information
    Processing Letters 97, 2006).  An element whose capability is unknown weighs as much as the median.
    """
    table, seen = offers.view.table, offers.view.observations
    rows = np.flatnonzero(np.isin(table.state, _USABLE) & ~seen.closed)
    if not len(rows):
        return []
    weights = np.fmax(seen.read_capability, seen.write_capability)[rows]
    known = weights[~np.isnan(weights)]
    weights = np.where(np.isnan(weights), np.median(known) if len(known) else 1.0, weights)
    keys = draw.exponential(size=len(rows)) / weights
    chosen = rows[np.argsort(keys)[:count]] if count < len(rows) else rows
    read, write = offers.value(Kind.CURRENT_READ_RATE), offers.value(Kind.CURRENT_WRITE_RATE)
    free = offers.value(Kind.FREE_CAPACITY)
    return [
        Sampled(table.elements[row], _known(read[row]), _known(write[row]), _known(free[row]))
        for row in chosen.tolist()
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
