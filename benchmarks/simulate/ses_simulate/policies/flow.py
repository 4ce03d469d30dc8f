"""Min-cost flow per sample, after Paul et al. (IEEE BigData 2017).

At each sample the requests expected until the next one (as many as since the last) are sent from a
source to the elements at the least total cost, and the result is dealt out in order.  All requests
are alike, so the flow is a transport problem with one source, which filling the elements by marginal
cost solves exactly (Fox, Operations Research 1966: greedy is optimal for separable convex costs); no
solver is needed.  Published costs are linear (used space, load of the machine), so everything goes to
the cheapest element until its huge capacity binds.  With the convex cost of sharing, the flow spreads.
"""

from __future__ import annotations

import heapq
from itertools import cycle, islice

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World
from ses_simulate.policies.stale import streams


class MinCostFlow(Policy):
    """Deals from the flow solved at the last sample; ``convex`` adds the cost of sharing."""

    def __init__(self, world: World, convex: bool = False) -> None:
        self._devices = world.devices
        self._convex = convex
        self._size = 1.0
        self._asked = 0
        self._list: list[int] = list(range(len(world.devices)))
        self._dealt = cycle(self._list)

    def observe(self, now: float, sample: Sample) -> None:
        """Solve the flow for as many requests as came since the last sample."""
        wanted = max(1, self._asked)
        self._asked = 0
        if self._convex:
            self._list = self._spread(streams(sample), wanted)
        else:
            self._list = self._fill(sample, wanted)
        self._dealt = cycle(self._list)

    def choose(self, now: float, file: File) -> int:
        """Return the next element of the list; start over when more came than expected."""
        self._asked += 1
        self._size = max(self._size, file.size)
        return next(self._dealt)

    def _fill(self, sample: Sample, wanted: int) -> list[int]:
        costs = [
            (1.0 - free / device.capacity) + busy
            for free, busy, device in zip(sample.free, sample.busy, self._devices, strict=True)
        ]
        chosen: list[int] = []
        for element in sorted(range(len(costs)), key=costs.__getitem__):
            fits = int(sample.free[element] / self._size)
            chosen.extend(islice([element] * min(fits, wanted), wanted - len(chosen)))
            if len(chosen) == wanted:
                break
        return chosen or [0]

    def _spread(self, flows: list[float], wanted: int) -> list[int]:
        heap = [
            ((count + 1.0) / device.write_rate, element, count)
            for element, (count, device) in enumerate(zip(flows, self._devices, strict=True))
        ]
        heapq.heapify(heap)
        chosen = []
        for _ in range(wanted):
            _, element, count = heap[0]
            chosen.append(element)
            again = (count + 2.0) / self._devices[element].write_rate
            heapq.heapreplace(heap, (again, element, count + 1.0))
        return chosen
