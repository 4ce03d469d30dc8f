"""One storage element as a fluid: egalitarian processor sharing, exact between events.

The work of a flow is measured in seconds the element would need for it alone (bytes over the rate of
the flow's direction), so readers and writers share one device.  With ``n`` flows each gets ``1 / n``
of the device, which as a whole runs at ``health * max(floor, 1 / (1 + loss (n - 1)))``, or slower
where the link of its machine is full (:mod:`ses_simulate.links`).

Instead of touching every flow at every event, a virtual time advances by what one flow was given; a
flow ends when that reaches its mark (the usual construction for processor sharing, as in weighted
fair queueing: Parekh and Gallager, IEEE/ACM ToN 1993).

Files take their space while they grow.  When an element is full, the file that was begun last finds no
room: its writer is notified, and what it wrote is removed.  Does not model caches, networks beyond the link
of a machine, metadata, limits of clients, or files striped over several elements.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ses_simulate.engine import Engine

Ended: TypeAlias = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Device:
    """What an element is.  Rates are bytes per second of one flow alone, by its description.

    ``health`` is what it really runs at, as a part of that: 1 unless the description is wrong.  ``loss``
    is the part of its speed lost per further flow, never below ``floor`` of the speed.  ``capacity``
    and ``free`` are bytes; ``group`` is the machine it belongs to, whose elements together give
    ``link_rate`` by the description of the site; nan: that states no limit.
    """

    read_rate: float
    write_rate: float
    health: float = 1.0
    loss: float = 0.0
    floor: float = 0.3
    capacity: float = 1e14
    free: float = 1e14
    group: int = 0
    link_rate: float = math.nan


@dataclass(slots=True, eq=False)
class _Flow:
    """Ends when the virtual time of its element reaches ``mark``."""

    mark: float
    number: int
    work: float
    reads: bool
    ended: Ended
    no_room: Ended | None

    def __lt__(self, other: _Flow) -> bool:
        return self.mark < other.mark or (self.mark == other.mark and self.number < other.number)


class Shared(Protocol):
    """What elements of a machine share: its link."""

    def share(self) -> float:
        """Return the most that one flow more would get."""

    def divide(self, changed: Server) -> None:
        """Divide it anew after the flows of one element changed."""


class Server:
    """The flows of one element.  ``throttle`` is the part of its speed that its machine's link leaves it."""

    __slots__ = (
        "_base",
        "_engine",
        "_flows",
        "_free",
        "_health",
        "_last",
        "_marks",
        "_rate",
        "_version",
        "_virtual",
        "depth_integral",
        "device",
        "link",
        "read_seconds",
        "reading",
        "throttle",
        "write_seconds",
        "writing",
    )

    def __init__(self, engine: Engine, device: Device) -> None:
        self.device = device
        self.reading = 0
        self.writing = 0
        self.read_seconds = 0.0
        self.write_seconds = 0.0
        self.depth_integral = 0.0
        self.throttle = 1.0
        self.link: Shared | None = None
        self._free = device.free
        self._engine = engine
        self._flows: list[_Flow] = []
        self._last = 0.0
        self._marks = 0.0
        self._virtual = 0.0
        self._version = 0
        self._health = device.health
        self._base = [0.0, 1.0]
        self._rate = 0.0

    @property
    def active(self) -> int:
        """How many flows there are."""
        return len(self._flows)

    @property
    def free(self) -> float:
        """Bytes free now."""
        self.advance(self._engine.now)
        return self._free

    @property
    def done(self) -> float:
        """Seconds of a healthy element that each flow has had since it was idle last."""
        self.advance(self._engine.now)
        return self._virtual

    @property
    def remaining(self) -> float:
        """Work left, in seconds of a healthy element alone."""
        self.advance(self._engine.now)
        return max(0.0, self._marks - len(self._flows) * self._virtual)

    @property
    def health(self) -> float:
        """What it runs at now, as a part of its description."""
        return self._health

    def speed(self, flows: int) -> float:
        """Return the speed of the whole element with so many flows; 1 is as described."""
        base = self._base
        while len(base) <= flows:
            base.append(max(self.device.floor, 1.0 / (1.0 + self.device.loss * (len(base) - 1))))
        return self._health * base[flows]

    def share(self) -> float:
        """Return what one writer more would get now, bytes per second."""
        flows = len(self._flows) + 1
        fair = self.device.write_rate * self.speed(flows) / flows
        return fair if self.link is None else min(fair, self.link.share())

    def demand(self) -> float:
        """Return the bytes per second that the flows would move if the link had no limit."""
        count = len(self._flows)
        if not count:
            return 0.0
        device = self.device
        mean = (self.reading * device.read_rate + self.writing * device.write_rate) / count
        return mean * self.speed(count)

    def become(self, health: float) -> None:
        """Run at another speed from now on."""
        self.advance(self._engine.now)
        self._health = health
        self._changed()

    def advance(self, now: float) -> None:
        """Bring everything up to a moment."""
        elapsed = now - self._last
        self._last = now
        count = len(self._flows)
        if count == 0 or elapsed <= 0.0:
            return
        given = elapsed * self._rate / count
        self._virtual += given
        self.read_seconds += given * self.reading
        if self.writing:
            written = given * self.writing
            self.write_seconds += written
            self._free = max(0.0, self._free - written * self.device.write_rate)
        self.depth_integral += elapsed * count

    def read(self, amount: float, ended: Ended) -> None:
        """Start reading ``amount`` bytes now; ``ended`` is told the moment it is done."""
        self._start(amount / self.device.read_rate, True, ended, None)

    def write(self, amount: float, ended: Ended, no_room: Ended | None = None) -> None:
        """Start writing a file of ``amount`` bytes now.

        ``ended`` is told the moment it is done, ``no_room`` (else ``ended``) when there was no room for it.
        """
        self._start(amount / self.device.write_rate, False, ended, no_room)

    def replan(self) -> None:
        """Work out anew what happens next."""
        self._version += 1
        count = len(self._flows)
        if not count:
            self._virtual = self._marks = self._rate = 0.0
            return
        version = self._version
        self._rate = self.speed(count) * self.throttle
        each = self._rate / count
        left = max(0.0, self._flows[0].mark - self._virtual) / each
        filling = each * self.writing * self.device.write_rate
        happening = self._finish
        if filling * left > self._free + 1.0:
            left, happening = self._free / filling, self._fill

        def happen(now: float) -> None:
            if version == self._version:
                happening(now)

        self._engine.at(self._engine.now + left, happen)

    def _start(self, work: float, reads: bool, ended: Ended, no_room: Ended | None) -> None:
        engine = self._engine
        self.advance(engine.now)
        self.reading += reads
        self.writing += not reads
        mark = self._virtual + work
        self._marks += mark
        engine.planned += 1
        heapq.heappush(self._flows, _Flow(mark, engine.planned, work, reads, ended, no_room))
        self._changed()

    def _changed(self) -> None:
        if self.link is None:
            self.replan()
        else:
            self.link.divide(self)

    def _finish(self, now: float) -> None:
        self.advance(now)
        flow = heapq.heappop(self._flows)
        self._marks -= flow.mark
        if flow.reads:
            self.reading -= 1
        else:
            self.writing -= 1
        self._changed()
        flow.ended(now)

    def _fill(self, now: float) -> None:
        """Let the file that was begun last find no room."""
        self.advance(now)
        flow = max((entry for entry in self._flows if not entry.reads), key=lambda flow: flow.number)
        self._flows.remove(flow)
        heapq.heapify(self._flows)
        self._marks -= flow.mark
        self.writing -= 1
        self._free += (flow.work - (flow.mark - self._virtual)) * self.device.write_rate
        self._changed()
        (flow.no_room or flow.ended)(now)
