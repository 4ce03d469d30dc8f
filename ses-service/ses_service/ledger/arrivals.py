"""How many things a second happen of late.

A count that fades: what happened ``t`` seconds ago weighs ``exp(-t / FADES)``.  Time is that of what is
counted, so that what is reported late weighs as little as it should.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

FADES = 5.0


class Recent:
    """One count."""

    __slots__ = ("_at", "_weight")

    def __init__(self) -> None:
        self._at = 0.0
        self._weight = 0.0

    def count(self, at: float) -> None:
        """Count one that happened at a time, in seconds since the epoch."""
        self.add(1.0, at)

    def add(self, weight: float, at: float) -> None:
        """Count some of which the last happened at a time, and that weigh so much then."""
        if at > self._at:
            self._weight = self._weight * math.exp((self._at - at) / FADES) + weight
            self._at = at
        else:
            self._weight += weight * math.exp((at - self._at) / FADES)

    def rate(self, now: float) -> float:
        """Return how many a second there are."""
        return self._weight * math.exp(min(0.0, (self._at - now) / FADES)) / FADES


class SystemArrivals:
    """Placements a second, of each storage system and of each node on it."""

    def __init__(self) -> None:
        self._of_system: dict[str, Recent] = {}
        self._of_node: dict[tuple[str, str], Recent] = {}

    def count(self, system: str, node: str | None, at: float) -> None:
        """Count a placement."""
        self._add(system, node, 1.0, at)

    def count_all(self, placed: Iterable[tuple[str, str, float]]) -> None:
        """Count placements, each by its system, node and time."""
        moments: dict[tuple[str, str], list[float]] = {}
        for system, node, at in placed:
            moments.setdefault((system, node), []).append(at)
        for (system, node), times in moments.items():
            self._add(system, node, *_together(times))

    def _add(self, system: str, node: str | None, weight: float, at: float) -> None:
        self._of_system.setdefault(system, Recent()).add(weight, at)
        if node is not None:
            self._of_node.setdefault((system, node), Recent()).add(weight, at)

    def of_node(self, system: str, node: str, now: float) -> float:
        """Return how many are made a second on a system by one node."""
        own = self._of_node.get((system, node))
        return 0.0 if own is None else own.rate(now)

    def of_other_nodes(self, system: str, node: str, now: float) -> float:
        """Return how many are made a second on a system, but by one node."""
        all_of_it = self._of_system.get(system)
        if all_of_it is None:
            return 0.0
        return max(0.0, all_of_it.rate(now) - self.of_node(system, node, now))

    def forget(self, now: float) -> None:
        """Forget the nodes that placed nothing for long."""
        self._of_node = {
            key: arrivals for key, arrivals in self._of_node.items() if arrivals.rate(now) > 1e-6
        }


def _together(moments: Collection[float]) -> tuple[float, float]:
    """Return what things that happened at these times weigh at the last of them, and that."""
    last = max(moments)
    return sum([math.exp((at - last) / FADES) for at in moments]), last
