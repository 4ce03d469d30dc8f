"""Whether files are read back once they are closed: what samples teach of it.

Of the elements on which a reader would be expected at a sample a part was not read, and of the other
elements a part was not read, either (Abbott, J. Econ. Entomol. 1925)::

    chance = 1 - (unread where expected) / (unread elsewhere)
"""

from __future__ import annotations

from collections import deque

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import World

READ_FROM = 0.05  # part of its read rate from which an element counts as read
MEMORY = 100.0  # elements with an expected reader in whose number evidence loses half its worth


class Habit:
    """Learns how likely a closed file is to be read back."""

    def __init__(self, world: World) -> None:
        self._devices = world.devices
        self._readers: deque[tuple[float, float, int]] = deque()
        self._counts = [0.0] * 4

    @property
    def read_back(self) -> bool:
        """Whether it is more likely than not; parts are estimated with one more of either kind (Laplace)."""
        trials, unread, plain, plain_unread = self._counts
        return (unread + 1) / (trials + 2) / ((plain_unread + 1) / (plain + 2)) < 0.5

    def lasts(self, written: float, element: int) -> float:
        """Return for how long a file would be read that took ``written`` seconds to write."""
        device = self._devices[element]
        return written * device.write_rate / device.read_rate

    def closed(self, now: float, until: float, element: int) -> None:
        """Note that a file was closed, which may be read until then."""
        self._readers.append((now, until, element))

    def observe(self, sample: Sample) -> None:
        """Learn from a sample."""
        moment = sample.taken - sample.span / 2
        while self._readers and self._readers[0][1] <= moment:
            self._readers.popleft()
        expected = {row for since, until, row in self._readers if since <= moment < until}
        kept = MEMORY / (MEMORY + len(expected))
        self._counts = [kept * count for count in self._counts]
        for row, device in enumerate(self._devices):
            place = 0 if row in expected else 2
            self._counts[place] += 1
            self._counts[place + 1] += sample.read_rate[row] < READ_FROM * device.read_rate
