"""Rates of a streaming program: the demand of each byte on each resource, and the resource that binds.

RR-4401, sections 3 and 4.  D = D_r + D_w is the rate of the local disk stream of one node.  Each path to
the data (:mod:`ses.streaming.paths`) says how often a byte of the stream, a byte communicated for the local
computation (beta_l) and a byte that only passes by (beta_d) crosses each bus.  Two things are added to the
paper: the disk and the link of the node limit D, too (M_d and M_n are in none of its minima), and so does
the copying of bytes by the processor.

The formulas are those of ``ses/stream.h``, in the C core: this module has their words.  LibraryError is
raised where libses is not installed.

Rates are bytes per second.  Not modelled: latency, cache hits, contention between programs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Any

from ses.api.library import ffi, library
from ses.streaming.paths import Path


class Resource(StrEnum):
    """What a stream uses on a node."""

    DISK = "disk"
    IO_BUS = "I/O bus"
    MEMORY_BUS = "memory bus"
    PROCESSOR = "processor"
    LINK = "network link"


@dataclass(frozen=True, slots=True)
class Node:
    """What a node has; infinite where it is not known, so that it never binds.

    ``processor`` is work per second, in the unit of the profile's gamma: instructions, or seconds of
    processor time, of which a node with 8 cores has 8 in a second.  ``copy_rate`` is the bytes per second
    all its cores copy from memory to memory.
    """

    disk: float = math.inf
    io_bus: float = math.inf
    memory_bus: float = math.inf
    processor: float = math.inf
    link: float = math.inf
    copy_rate: float = math.inf


@dataclass(frozen=True, slots=True)
class StreamProfile:
    """What a program does for each byte of its local disk stream (RR-4401, section 3).

    ``alpha``: memory accesses of the processor, in bytes.  ``beta_l``, ``beta_d``: bytes communicated that
    the local computation does, does not use.  ``gamma``: work of the processor.  ``written_per_read`` is f,
    the bytes written for each byte read; infinite for a program that only writes.  ``overlapped``: reading,
    computing, communicating and writing go on at the same time, as the paper assumes.
    """

    alpha: float = 0.0
    beta_l: float = 0.0
    beta_d: float = 0.0
    gamma: float = 0.0
    written_per_read: float = 0.0
    overlapped: bool = True

    def __post_init__(self) -> None:
        numbers = (self.alpha, self.beta_l, self.beta_d, self.gamma, self.written_per_read)
        if not all(number >= 0 for number in numbers):
            raise ValueError("no number of a profile is negative")


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest rate D of a stream, the resource that binds, and what each would allow by itself."""

    rate: float
    binding: Resource
    allowed: Mapping[Resource, float]


def peak(node: Node, profile: StreamProfile, path: Path) -> Peak:
    """Return the highest rate of the stream on a node (RR-4401, section 4): ``ses_stream_bound()``.

    A program that overlaps its parts runs at the least of what the resources allow.  One that does not
    waits for disk, processor and link in turn; the buses carry what goes on meanwhile.
    """
    limits = _limits(node, profile, path)
    allowed = {resource: float(limits.allowed[at]) for resource, at in _AT.items()}
    return Peak(float(limits.rate), _RESOURCES[limits.binding], allowed)


_RESOURCES = tuple(Resource)
"""In the order of ``ses_stream_resource``."""
_AT = {resource: at for at, resource in enumerate(_RESOURCES)}


def _limits(node: Node, profile: StreamProfile, path: Path) -> Any:
    limits = ffi.new("ses_stream_limits *")
    moved = (profile.alpha, profile.beta_l, profile.beta_d, profile.gamma, int(not profile.overlapped))
    library().ses_stream_bound(
        ffi.new("ses_stream_node *", astuple(node)),
        ffi.new("ses_stream_profile *", moved),
        ffi.new("ses_stream_path *", (path.disk, path.io_bus, path.memory_bus, path.copies, path.link)),
        limits,
    )  # refuses nothing here: a StreamProfile has no number that is negative
    return limits
