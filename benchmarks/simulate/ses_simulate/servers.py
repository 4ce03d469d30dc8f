"""One storage element as a fluid: egalitarian processor sharing, exact between events.

The work of a flow is measured in seconds the element would need for it alone (bytes over the rate of
the flow's direction), so readers and writers share one device.  With ``n`` flows each gets ``1 / n``
of the device, which as a whole runs at ``health * max(floor, 1 / (1 + loss (n - 1)))``.

Instead of touching every flow at every event, a virtual time advances by what one flow was given; a
flow ends when that reaches its mark (the usual construction for processor sharing, as in weighted
fair queueing: Parekh and Gallager, IEEE/ACM ToN 1993).  Does not model caches, networks, metadata,
limits of clients, or files striped over several elements.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ses_simulate.engine import Engine

Ended: TypeAlias = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Device:
    """What an element is.  Rates are bytes per second of one flow alone, by its description.

    ``health`` is what it really runs at, as a part of that: 1 unless it is secretly slow.  ``loss``
    is the part of its speed lost per further flow, never below ``floor`` of the speed.  ``capacity``
    and ``free`` are bytes; ``group`` is the machine it belongs to.
    """

    read_rate: float
    write_rate: float
    health: float = 1.0
    loss: float = 0.0
    floor: float = 0.3
    capacity: float = 1e14
    free: float = 1e14
    group: int = 0


class Server:
    """The flows of one element."""

    __slots__ = (
        "_engine",
        "_flows",
        "_last",
        "_marks",
        "_speeds",
        "_version",
        "_virtual",
        "depth_integral",
        "device",
        "free",
        "read_seconds",
        "reading",
        "write_seconds",
        "writing",
    )

    def __init__(self, engine: Engine, device: Device) -> None:
        self.device = device
        self.free = device.free
        self.reading = 0
        self.writing = 0
        self.read_seconds = 0.0
        self.write_seconds = 0.0
        self.depth_integral = 0.0
        self._engine = engine
        self._flows: list[tuple[float, int, bool, Ended]] = []
        self._last = 0.0
        self._marks = 0.0
        self._virtual = 0.0
        self._version = 0
        self._speeds = [0.0, device.health]

    @property
    def active(self) -> int:
        """How many flows there are."""
        return len(self._flows)

    @property
    def remaining(self) -> float:
        """Work left, in seconds of a healthy element alone."""
        self.advance(self._engine.now)
        return max(0.0, self._marks - len(self._flows) * self._virtual)

    def speed(self, flows: int) -> float:
        """Return the speed of the whole element with so many flows; 1 is as described."""
        speeds = self._speeds
        while len(speeds) <= flows:
            lost = 1.0 + self.device.loss * (len(speeds) - 1)
            speeds.append(self.device.health * max(self.device.floor, 1.0 / lost))
        return speeds[flows]

    def advance(self, now: float) -> None:
        """Bring everything up to a moment."""
        elapsed = now - self._last
        self._last = now
        count = len(self._flows)
        if count == 0 or elapsed <= 0.0:
            return
        given = elapsed * (self._speeds[count] if count < len(self._speeds) else self.speed(count)) / count
        self._virtual += given
        self.read_seconds += given * self.reading
        self.write_seconds += given * self.writing
        self.depth_integral += elapsed * count

    def read(self, amount: float, ended: Ended) -> None:
        """Start reading ``amount`` bytes now; ``ended`` is told the moment it is done."""
        self._start(amount / self.device.read_rate, True, ended)

    def write(self, amount: float, ended: Ended) -> None:
        """Start writing ``amount`` bytes of a file now; the space is taken at once."""
        self.free = max(0.0, self.free - amount)
        self._start(amount / self.device.write_rate, False, ended)

    def _start(self, work: float, reads: bool, ended: Ended) -> None:
        engine = self._engine
        self.advance(engine.now)
        self.reading += reads
        self.writing += not reads
        mark = self._virtual + work
        self._marks += mark
        engine.planned += 1
        heapq.heappush(self._flows, (mark, engine.planned, reads, ended))
        self._plan()

    def _plan(self) -> None:
        self._version += 1
        count = len(self._flows)
        if not count:
            self._virtual = self._marks = 0.0
            return
        version = self._version
        left = (self._flows[0][0] - self._virtual) * count / self.speed(count)

        def finish(now: float) -> None:
            if version == self._version:
                self._finish(now)

        self._engine.at(self._engine.now + max(0.0, left), finish)

    def _finish(self, now: float) -> None:
        self.advance(now)
        mark, _, reads, ended = heapq.heappop(self._flows)
        self._marks -= mark
        if reads:
            self.reading -= 1
        else:
            self.writing -= 1
        self._plan()
        ended(now)
