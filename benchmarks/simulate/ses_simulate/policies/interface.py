"""What a placement rule is asked, what it may know, and what it is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ses_simulate.engine import Engine
from ses_simulate.monitor import Sample, Sampling
from ses_simulate.servers import Device, Server


class Mirrored(Random):
    """Chance turned round: what is likely small in a run is likely large in its mirror image."""

    def random(self) -> float:
        """Return 1 less the number, from 0 up to but not 1."""
        return 1.0 - (super().random() or 1.0)


@dataclass(frozen=True, slots=True)
class World:
    """What a rule may know of a run.

    ``devices`` are what the description of the site says of each element (never its health);
    ``servers`` are the elements as they are, which only clairvoyant rules and the free space of
    Lustre's own allocators may look at.  ``deciders`` decide side by side; they tell each other of
    their placements every ``shared_every`` seconds (0: they are one).  ``reads`` and ``writes`` are
    the minimum rates asked for, bytes per second.  Rules of another ``role`` draw other lots;
    a ``mirrored`` world draws the lots of its seed turned round.
    """

    engine: Engine
    devices: Sequence[Device]
    servers: Sequence[Server]
    sampling: Sampling
    seed: int
    role: str = ""
    mirrored: bool = False
    deciders: int = 1
    shared_every: float = 0.0
    reads: float | None = None
    writes: float | None = None

    def random(self, purpose: str) -> Random:
        """Return a source of chance of its own for a purpose."""
        return (Mirrored if self.mirrored else Random)(f"{self.seed}/{self.role}/{purpose}")


@dataclass(frozen=True, slots=True)
class File:
    """A file about to be created: a number no other file has, its bytes, its user, who decides."""

    number: int
    size: float
    user: str = "user"
    decider: int = 0


class Policy:
    """A placement rule.  Elements are numbers from 0; times are seconds since the start."""

    def choose(self, now: float, file: File) -> int:
        """Return the element for one file."""
        raise NotImplementedError

    def deal(self, now: float, files: Sequence[File]) -> Iterator[int]:
        """Yield the elements for files that are created at one moment, in order.

        The caller starts each file before it takes the next element.
        """
        for file in files:
            yield self.choose(now, file)

    def observe(self, now: float, sample: Sample) -> None:
        """Take a sample of the monitor."""

    def closed(self, now: float, file: File, element: int) -> None:
        """Take note that a file this rule placed was closed."""
