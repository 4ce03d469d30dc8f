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


_NONE = Crossings(0, 0, 0)
_ONCE = Crossings(1, 1, 1)
_OWN_DISK = Crossings(1, 0, 0)
_OWN_LINK = Crossings(0, 1, 1)


@dataclass(frozen=True, slots=True)
class Path:
    """One way of bytes between storage, memory and network.  ``copies``: copies by the processor."""

    name: str
    what: str
    source: str
    io_bus: Crossings
    memory_bus: Crossings
    copies: Crossings = _NONE
    disk: Crossings = _OWN_DISK
    link: Crossings = _OWN_LINK


P2PS = Path(
    "p2ps",
    "shared nothing: disk, memory, network card, network card, memory",
    "RR-4401, Table 1",
    io_bus=_ONCE,
    memory_bus=_ONCE,
)
READ2 = Path(
    "read2",
    "shared disk: the network card reads the disk, past memory and processor",
    "RR-4401, Table 1",
    io_bus=Crossings(1, 1, 0),
    memory_bus=Crossings(1, 1, -1),
)

TODAY = (
    Path(
        "read-write",
        "read(2) and write(2) through the page cache, send(2) and recv(2)",
        "read(2), write(2): the kernel copies between page cache or socket and the program",
        io_bus=_ONCE,
        memory_bus=Crossings(3, 3, 3),
        copies=_ONCE,
    ),
    Path(
        "sendfile",
        "sendfile(2) or splice(2): what passes by goes from the page cache to the network card",
        "sendfile(2): the copying is done within the kernel, by reference to pages",
        io_bus=_ONCE,
        memory_bus=Crossings(3, 3, -1),
        copies=Crossings(1, 1, -1),
    ),
    Path(
        "direct",
        "O_DIRECT: between the device and the program's memory; send(2) and recv(2)",
        "open(2), O_DIRECT",
        io_bus=_ONCE,
        memory_bus=Crossings(1, 3, 3),
        copies=Crossings(0, 1, 1),
    ),
    Path(
        "io-uring",
        "io_uring with fixed buffers and O_DIRECT, zero-copy send; recv(2)",
        "io_uring_register_buffers(3), io_uring_prep_send_zc(3): pages stay mapped, nothing is copied",
        io_bus=_ONCE,
        memory_bus=Crossings(1, 3, 1),
        copies=Crossings(0, 1, 0),
    ),
    Path(
        "rdma",
        "O_DIRECT and RDMA: the network card reads and writes the program's memory",
        "rdma-core, ibv_reg_mr(3)",
        io_bus=_ONCE,
        memory_bus=_ONCE,
    ),
    Path(
        "peer-to-peer",
        "the network card reads the disk's own memory (PCI peer-to-peer DMA, NVMe over Fabrics)",
        "Linux, Documentation/driver-api/pci/p2pdma.rst",
        io_bus=Crossings(1, 1, 0),
        memory_bus=Crossings(1, 1, -1),
    ),
    Path(
        "gpudirect",
        "GPUDirect Storage and RDMA: between device and GPU memory below one PCI switch",
        "NVIDIA GPUDirect Storage, Design Guide",
        io_bus=Crossings(1, 1, 0),
        memory_bus=_NONE,
    ),
    Path(
        "client",
        "a network file system through the page cache: the whole stream comes over the link",
        "read(2), write(2); the copy is the client's, between page cache and program",
        io_bus=_ONCE,
        memory_bus=Crossings(3, 3, 3),
        copies=_ONCE,
        link=_ONCE,
    ),
    Path(
        "client-direct",
        "a network file system with O_DIRECT and RDMA",
        "open(2), O_DIRECT; Lustre over o2ib",
        io_bus=_ONCE,
        memory_bus=_ONCE,
        link=_ONCE,
    ),
    Path(
        "server-copy",
        "copy_file_range(2) on the server (NFS 4.2, SMB 3): no byte reaches this node",
        "RFC 7862, section 4",
        io_bus=_NONE,
        memory_bus=_NONE,
        link=_NONE,
    ),
)

PATHS = {path.name: path for path in (P2PS, READ2, *TODAY)}
