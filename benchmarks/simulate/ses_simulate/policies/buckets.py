"""AIOT's rule: elements in buckets of utilisation, first in first out inside a bucket.

From Xu et al., *AIOT* (IPDPS 2022): six buckets of utilisation (idle, up to 20 %, ... up to 100 %);
the first element of the best bucket is taken, its remaining capability is lowered by what was given
away, and it goes to the end of the bucket it then belongs to.  Their end-to-end path has further hops
and their jobs a predicted bandwidth; here a hop is an element and a file's writer can use all of one.
Without anything else to tell them apart within a sample, a taken element goes to the last bucket.
"""

from __future__ import annotations

from collections import deque
from math import ceil

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World

BUCKETS = 6


def bucket_of(utilisation: float) -> int:
    """Return the bucket, 0 (idle) to 5."""
    return min(BUCKETS - 1, max(0, ceil(utilisation * (BUCKETS - 1) - 1e-9)))


class Buckets(Policy):
    """AIOT's buckets over the elements, with what was given away since the last sample."""

    def __init__(self, world: World) -> None:
        self._rates = [device.write_rate for device in world.devices]
        self._demand = max(self._rates)
        self._random = world.random("buckets")
        self._busy = [0.0] * len(world.devices)
        self._queues: list[deque[int]] = []
        self._fill()

    def observe(self, now: float, sample: Sample) -> None:
        """Sort the elements anew by their utilisation."""
        self._busy = list(sample.busy)
        self._fill()

    def choose(self, now: float, file: File) -> int:
        """Return the first element of the best bucket."""
        for queue in self._queues:
            if queue:
                element = queue.popleft()
                break
        self._busy[element] += self._demand / self._rates[element]
        self._queues[bucket_of(self._busy[element])].append(element)
        return element

    def _fill(self) -> None:
        self._queues = [deque() for _ in range(BUCKETS)]
        order = list(range(len(self._busy)))
        self._random.shuffle(order)
        for element in order:
            self._queues[bucket_of(self._busy[element])].append(element)
