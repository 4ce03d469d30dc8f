"""What a placement rule is asked, what it may know, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ses_core import Kind

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
    ``servers`` are the elements as they are, which only clairvoyant rules, and who looks at free space
    (Lustre's own allocators, mergerfs, agents), may look at.  Files are created on ``nodes``, whose agents
    speak with the service every ``pace`` seconds (0: as the service sets it) and see a close up to
    ``close_poll`` seconds late.  ``reads`` and ``writes`` are the minimum rates asked for, and ``required``
    those of writing that anybody requires, bytes per second.  Rules of another ``role`` draw other random
    numbers; a ``mirrored`` world draws those of its seed turned round.
    """

    engine: Engine
    devices: Sequence[Device]
    servers: Sequence[Server]
    sampling: Sampling
    seed: int
    role: str = ""
    mirrored: bool = False
    nodes: int = 1
    pace: float = 0.0
    close_poll: float = 0.0
    reads: float | None = None
    writes: float | None = None
    required: tuple[float, ...] = ()

    def random(self, purpose: str) -> Random:
        """Return a source of chance of its own for a purpose."""
        return (Mirrored if self.mirrored else Random)(f"{self.seed}/{self.role}/{purpose}")


@dataclass(frozen=True, slots=True)
class File:
    """A file about to be created: a number no other file has, its bytes, its user and node.

    ``rank`` is that of its process in its job, where it has one; so many of those before it are
    ``elsewhere``, on other nodes.  ``writes`` is the minimum rate asked for it, where it is not the world's:
    of that ``kind``, ``hard`` or not; its program takes no more where it is ``modest``.
    """

    number: int
    size: float
    user: str = "user"
    node: int = 0
    rank: int | None = None
    elsewhere: int = 0
    writes: float | None = None
    kind: Kind = Kind.CURRENT_WRITE
    hard: bool = False
    modest: bool = False


class Policy:
    """A placement rule.  Elements are numbers from 0; times are seconds since the start."""

    def choose(self, now: float, file: File) -> int:
        """Return the element for one file; negative: it is left to the file system."""
        raise NotImplementedError

    def observe(self, now: float, sample: Sample) -> None:
        """Take a sample of the monitor."""

    def written(self, now: float, file: File, element: int) -> None:
        """Take note that the last byte of a file was written, which may stay open."""

    def closed(self, now: float, file: File, element: int) -> None:
        """Take note that a file this rule placed was closed."""

    def reading(self, now: float, file: File, element: int) -> None:
        """Take note that a program of the file's node begins to read a file this rule placed."""

    def read(self, now: float, file: File, element: int) -> None:
        """Take note that it is done."""
