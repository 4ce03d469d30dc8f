"""Rules that see everything as it is, without delay: what the others are measured by.

Not an upper bound of what is possible (nobody knows the files to come), but the best that greedy
placement can do with perfect knowledge of the present.
"""

from __future__ import annotations

from ses_simulate.policies.interface import File, Policy, World


class Clairvoyant(Policy):
    """The best true share: what a writer more would get from the element, and from its machine's link.

    Of equals the one that was given the fewest bytes, then any.
    """

    def __init__(self, world: World) -> None:
        self._servers = world.servers
        self._given = [0.0] * len(world.servers)
        self._random = world.random("clairvoyant")

    def choose(self, now: float, file: File) -> int:
        """Return the element with the best true share."""
        best, chosen = (float("inf"), 0.0, 0.0), 0
        draw = self._random.random
        for element, server in enumerate(self._servers):
            share = 1.0 / server.share()
            if share <= best[0]:
                key = (share, self._given[element] / server.device.write_rate, draw())
                if key < best:
                    best, chosen = key, element
        self._given[chosen] += file.size
        return chosen


class LeastWork(Policy):
    """The element on which the file would be done first if all that is there had to end before it."""

    def __init__(self, world: World) -> None:
        self._servers = world.servers

    def choose(self, now: float, file: File) -> int:
        """Return the element with the least work left, the file's own included."""
        return min(
            range(len(self._servers)),
            key=lambda element: (
                (self._servers[element].remaining + file.size / self._servers[element].device.write_rate)
                / self._servers[element].health
            ),
        )
