"""The clock: things that happen at a moment, in order.

Knows nothing of storage.  What happens at the same moment happens in the order it was planned, so a
run is the same every time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TypeAlias

Happening: TypeAlias = Callable[[float], object]


class Engine:
    """Runs happenings in order of time.  ``now`` is seconds since the start of the run."""

    __slots__ = ("_planned", "_stopped", "now", "planned")

    def __init__(self) -> None:
        self.now = 0.0
        self.planned = 0
        self._planned: list[tuple[float, int, Happening]] = []
        self._stopped = False

    def at(self, moment: float, happening: Happening) -> None:
        """Call ``happening(moment)`` at a moment that is not before ``now``."""
        self.planned += 1
        heapq.heappush(self._planned, (moment, self.planned, happening))

    def stop(self) -> None:
        """End the run after what is happening."""
        self._stopped = True

    def run_until(self, moment: float) -> None:
        """Let everything happen that is planned up to a moment, and go on to it."""
        while self._planned and self._planned[0][0] <= moment:
            self.now, _, happening = heapq.heappop(self._planned)
            happening(self.now)
        self.now = moment

    def run(self) -> None:
        """Let everything happen until ``stop`` or until nothing is planned."""
        planned, pop = self._planned, heapq.heappop
        self._stopped = False
        while planned and not self._stopped:
            self.now, _, happening = pop(planned)
            happening(self.now)
