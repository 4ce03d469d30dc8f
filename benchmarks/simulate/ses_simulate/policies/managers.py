"""Rules of one manager that hears every create and close at once, and nothing of what others do.

This favours them: no product's manager hears so soon.
"""

from __future__ import annotations

from collections.abc import Sequence

from ses_simulate.policies.interface import File, Policy, World


class _Manager(Policy):
    """Knows its own open files on each element, and the space that is free."""

    def __init__(self, world: World) -> None:
        self._servers = world.servers
        self._everywhere: Sequence[int] = range(len(world.servers))
        self._open = [0] * len(world.servers)
        self._random = world.random("manager")

    def choose(self, now: float, file: File) -> int:
        """Choose, and count the file there."""
        element = self._choose()
        self._open[element] += 1
        return element

    def closed(self, now: float, file: File, element: int) -> None:
        """Count the file no more."""
        self._open[element] -= 1

    def _choose(self) -> int:
        raise NotImplementedError


class Wass(_Manager):
    """dCache's weighted available space: drawn by the free bytes over ``2 ** (half of the writers)``."""

    _COST = 0.5  # of a mover, as dCache is set at first

    def _choose(self) -> int:
        least = min(self._open)
        weights = [
            max(1.0, server.free) * 2.0 ** (self._COST * (least - open_files))
            for server, open_files in zip(self._servers, self._open, strict=True)
        ]
        return self._random.choices(self._everywhere, weights)[0]


class Hdfs(_Manager):
    """HDFS with ``considerLoad``: any element with at most twice as many files as one has on average."""

    _FACTOR = 2.0

    def _choose(self) -> int:
        most = self._FACTOR * sum(self._open) / len(self._open)
        return self._random.choice([entry for entry in self._everywhere if self._open[entry] <= most])


class MythTv(_Manager):
    """The fewest own files, of equals the most free space."""

    def _choose(self) -> int:
        return min(self._everywhere, key=lambda element: (self._open[element], -self._servers[element].free))


class JoinIdle(_Manager):
    """Any element without a file; where there is none, any element (Lu et al., Performance 2011)."""

    def _choose(self) -> int:
        return self._random.choice(
            [entry for entry in self._everywhere if not self._open[entry]] or self._everywhere
        )


class TwoTrue(_Manager):
    """Of two drawn at random the one with fewer files."""

    def _choose(self) -> int:
        return min(self._random.sample(self._everywhere, 2), key=self._open.__getitem__)
