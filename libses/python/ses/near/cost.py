"""What a program takes near its data, and what it takes here.  Pure.

The rule is that of active storage (Riedel, Gibson and Faloutsos, VLDB 1998; ORCA, section IV; DiSC,
section 3.5): a program goes near its data if

    max(S/disk, c_near S) + out/link  <  max(S/disk, S/link, c_here S)

with S the bytes it reads, c the CPU seconds a byte takes, and out the bytes it returns.  Reading, computing
and the network overlap here, and so do reading and computing there; what is returned is counted as if it were
sent last.  A link is divided among the clients that use it at the same time, and so are the cores of a node
that holds data.

Left out: seeks, caches, files that the program writes, and programs that read all before they compute, as
sort does (the same is missing on both sides, so such a program looks nearer to a tie than it is).
All rates are bytes per second, times seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MARGIN = 0.10
"""A program goes near only if that saves this share of its time here: predictions are no better."""


@dataclass(frozen=True, slots=True)
class Work:
    """A program: ``returned`` bytes per byte it reads, CPU seconds per byte, processes at once on a node."""

    returned: float
    cpu_seconds_per_byte: float
    processes: int = 1


@dataclass(frozen=True, slots=True)
class Holder:
    """A node that holds some of the data.

    ``bytes`` of the data are there, read at ``disk_rate`` by this program.  ``link_rate`` is what the
    node's link carries to all ``clients`` together, ``math.inf``: no limit.  ``cores`` may be a
    fraction (a quota); ``slowdown`` is how many times the CPU seconds of a core here one needs there.
    """

    bytes: float
    disk_rate: float
    link_rate: float = math.inf
    clients: int = 1
    cores: float = 1.0
    slowdown: float = 1.0


@dataclass(frozen=True, slots=True)
class Here:
    """The node the command is called on."""

    link_rate: float = math.inf
    cores: float = 1.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds in all, the seconds each resource takes, which of them binds, bytes over the network."""

    seconds: float
    disk: float
    link: float
    cpu: float
    wire_bytes: float

    @property
    def bound_by(self) -> str:
        """Return ``disk``, ``link`` or ``CPU``: what takes longest; in a tie the first of these."""
        seconds = {"disk": self.disk, "link": self.link, "CPU": self.cpu}
        return max(seconds, key=lambda resource: seconds[resource])


@dataclass(frozen=True, slots=True)
class Decision:
    """Both predictions, and whether to go near.  ``saved``: share of the time here, negative when lost."""

    near: Prediction
    here: Prediction
    margin: float

    @property
    def saved(self) -> float:
        """Return what going near saves, as a share of the time here."""
        return 1 - self.near.seconds / self.here.seconds if self.here.seconds > 0 else 0.0

    @property
    def pays(self) -> bool:
        """Tell whether near saves at least the margin."""
        return self.saved >= self.margin

    @property
    def lost(self) -> str:
        """Return both times and what binds, in words."""
        both = (("near", self.near), ("here", self.here))
        return ", ".join(
            f"{name} {prediction.seconds:.1f} s ({prediction.bound_by} binds)" for name, prediction in both
        )


def near(work: Work, holders: Sequence[Holder], here: Here, start_seconds: float = 0.0) -> Prediction:
    """Return what the work takes if each node reads what it holds, and starts ``start_seconds`` later.

    The slowest node counts: all work at the same time.
    """
    disks = [holder.bytes / holder.disk_rate for holder in holders]
    cpus = [
        holder.bytes
        * work.cpu_seconds_per_byte
        * holder.slowdown
        / _cores(work, holder.cores / holder.clients)
        for holder in holders
    ]
    returned = [holder.bytes * work.returned for holder in holders]
    own_links = [
        out * holder.clients / holder.link_rate for out, holder in zip(returned, holders, strict=True)
    ]
    link = max(sum(returned) / here.link_rate, *own_links)
    slowest = max(*disks, *cpus)
    seconds = slowest + link + start_seconds
    return Prediction(seconds, max(disks), link, max(cpus), sum(returned))


def local(work: Work, holders: Sequence[Holder], here: Here) -> Prediction:
    """Return what the work takes if this node reads all over the network."""
    total = sum(holder.bytes for holder in holders)
    disk = max(holder.bytes / holder.disk_rate for holder in holders)
    link = max(
        total / here.link_rate, *(holder.bytes * holder.clients / holder.link_rate for holder in holders)
    )
    cpu = total * work.cpu_seconds_per_byte / _cores(work, here.cores)
    return Prediction(max(disk, link, cpu), disk, link, cpu, total)


def decide(
    work: Work, holders: Sequence[Holder], here: Here, start_seconds: float = 0.0, margin: float = MARGIN
) -> Decision:
    """Return both predictions and the decision.  Raises ValueError without holders."""
    if not holders:
        raise ValueError("nobody holds the data")
    return Decision(near(work, holders, here, start_seconds), local(work, holders, here), margin)


def _cores(work: Work, cores: float) -> float:
    """Cores that the processes of a node keep busy: no process uses more than one."""
    return min(float(work.processes), cores)
