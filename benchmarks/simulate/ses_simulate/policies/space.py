"""Rules that look at space alone, as mergerfs places files (its policies ``pfrd``, ``mfs`` and ``lus``).

Space is looked up at each create, as mergerfs does with its cache of ``statfs`` off.  A file that was just
begun has taken no space yet, so files that are begun together meet.
"""

from __future__ import annotations

from ses_simulate.policies.interface import File, Policy, World


class MostFree(Policy):
    """``mfs``: the element with the most free space, the first of equals."""

    def __init__(self, world: World) -> None:
        self._servers = world.servers

    def choose(self, now: float, file: File) -> int:
        """Return the element with the most free space."""
        return max(range(len(self._servers)), key=lambda element: self._servers[element].free)


class LeastUsed(Policy):
    """``lus``: the element with the least used space, the first of equals."""

    def __init__(self, world: World) -> None:
        self._servers = world.servers

    def choose(self, now: float, file: File) -> int:
        """Return the element with the least used space."""
        return min(
            range(len(self._servers)),
            key=lambda element: self._servers[element].device.capacity - self._servers[element].free,
        )


class DrawnByFree(Policy):
    """``pfrd``: any element, each as likely as its free space is large."""

    def __init__(self, world: World) -> None:
        self._servers = world.servers
        self._random = world.random("pfrd")

    def choose(self, now: float, file: File) -> int:
        """Return an element drawn by its free space."""
        weights = [server.free for server in self._servers]
        if not any(weights):
            return 0
        return self._random.choices(range(len(weights)), weights)[0]
