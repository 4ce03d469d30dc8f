"""An element whose readers and writers do not share its speed, such as one the kernel limits by direction."""

from __future__ import annotations

from ses_simulate.engine import Engine
from ses_simulate.servers import Device, Ended, Server


class DuplexServer(Server):
    """Writers are the flows of the server itself, readers those of another one."""

    __slots__ = ("_queued", "_readers")

    def __init__(self, engine: Engine, device: Device) -> None:
        super().__init__(engine, device)
        self._readers = Server(engine, device)
        self._queued = 0.0

    @property
    def active(self) -> int:
        """How many flows there are."""
        return super().active + self._readers.active

    @property
    def remaining(self) -> float:
        """Work left, in seconds of a healthy element alone."""
        return super().remaining + self._readers.remaining

    def advance(self, now: float) -> None:
        """Bring everything up to a moment."""
        super().advance(now)
        self._readers.advance(now)
        self.read_seconds = self._readers.read_seconds
        self.depth_integral += self._readers.depth_integral - self._queued
        self._queued = self._readers.depth_integral

    def read(self, amount: float, ended: Ended) -> None:
        """Start reading ``amount`` bytes now; ``ended`` is told the moment it is done."""
        self._readers.read(amount, ended)
