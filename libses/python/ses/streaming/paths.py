"""Paths between storage and a program: how often each byte crosses the buses of the node.

The coefficients are those of the linear forms in RR-4401, Table 1: a byte of the local disk stream counts
``stream``, a byte communicated for the local computation ``local`` more, and a byte of the stream that only
passes by, read for another node, ``distant`` more.  All that such a byte causes is ``stream + distant``.

A transfer between a device and memory crosses the memory bus once, a copy by the processor twice (a load
and a store).  The counts are those of the documents named; the kernel is not asked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Crossings(NamedTuple):
    """How often bytes cross one bus."""

    stream: float
    local: float
    distant: float


NONE = Crossings(0, 0, 0)
ONCE = Crossings(1, 1, 1)
_OWN_DISK = Crossings(1, 0, 0)
_OWN_LINK = Crossings(0, 1, 1)


@dataclass(frozen=True, slots=True)
class Path:
    """One way of bytes between storage, memory and network.  ``copies``: copies by the processor."""

    io_bus: Crossings
    memory_bus: Crossings
    copies: Crossings = NONE
    disk: Crossings = _OWN_DISK
    link: Crossings = _OWN_LINK


CLIENT = Path(ONCE, Crossings(3, 3, 3), copies=ONCE, link=ONCE)
"""A network file system through the page cache: the whole stream comes over the link.

By read(2) and write(2); the copy is the client's, between page cache and program.
"""
