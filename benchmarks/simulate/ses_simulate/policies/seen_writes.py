"""What agents see of others by themselves: the bytes that go onto each element, by its free space.

The branches of a union are looked at every second.  What was written there meanwhile, as a part of what the
element gives, less the most streams of ours that were there at a time, is work of others.  Reading cannot be
seen so: it takes nothing away from what the monitor says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ses_simulate.policies.interface import World
from ses_simulate.policies.reports import Reports

EVERY = 1.0  # seconds


class SeenWrites:
    """Looks from the start on, and says each time how many streams of others it saw on each element."""

    def __init__(
        self, world: World, reports: Reports, saw: Callable[[float, npt.NDArray[np.float64]], object]
    ) -> None:
        self._engine = world.engine
        self._servers = world.servers
        self._reports = reports
        self._saw = saw
        self._written = np.zeros(len(world.servers))
        self._engine.at(EVERY, self._look)

    def _look(self, now: float) -> None:
        self._reports.advance(now)
        for server in self._servers:
            server.advance(now)
        written = np.array([server.write_seconds for server in self._servers])
        busy = np.minimum(1.0, (written - self._written) / EVERY)
        self._written = written
        self._saw(now, np.maximum(0.0, busy - self._reports.most_own()))
        self._engine.at(now + EVERY, self._look)
