"""Measuring what a node gives to streaming programs: copying by its cores, its memory bus, a link to a peer.

Copies are timed by the processor time of the thread that makes them, so that other work on the node counts
only as far as it takes memory bandwidth; the best of several rounds counts.  A copy crosses the memory bus
twice (a load and a store).  Buffers lie on whatever socket the kernel chooses.  Instructions are counted by
the processor, where it has such counters and they may be read.  What the I/O bus of a device carries is not
measured: it is what the kernel says of its PCI Express link.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import resource
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import SesError, UsageError

from ses.profiling.counters import Counters

BUFFER_BYTES = 64 * 2**20
ROUNDS = 8
_PIECE = 2**20
_PATIENCE_SECONDS = 30.0
_COMPUTES = "import hashlib; [hashlib.sha256(bytes(1 << 16)).digest() for _ in range(2000)]"
_CODED_DENSELY = 8.0  # GT/s: from here on 128 of 130 bits are data, before 8 of 10


@dataclass(frozen=True, slots=True)
class NodeRates:
    """Bytes per second; ``cores`` are those this process may use, ``link`` None when no peer was asked.

    ``instructions``: of all cores in a second, None where they cannot be counted.
    """

    cores: int
    core_copy: float
    all_copy: float
    link: float | None = None
    instructions: float | None = None

    @property
    def memory_bus(self) -> float:
        """What crosses the memory bus while all cores copy."""
        return 2 * self.all_copy


def measure_node(size: int = BUFFER_BYTES, rounds: int = ROUNDS) -> NodeRates:
    """Copy ``size`` bytes ``rounds`` times by one core, then by all at once, each between its own buffers."""
    cores = len(os.sched_getaffinity(0))
    alone = _copy_rate(size, rounds)
    with ThreadPoolExecutor(cores) as pool:
        together = sum(pool.map(lambda _: _copy_rate(size, rounds), range(cores)))
    return NodeRates(cores, alone, max(alone, together), instructions=_instructions(cores))


def _instructions(cores: int) -> float | None:
    """Count those of a program that computes (SHA-256, in the cache of the processor)."""
    counters = Counters()
    try:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([sys.executable, "-c", _COMPUTES], check=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        counted = counters.read().get("instructions", 0)
    finally:
        counters.close()
    return cores * counted / seconds if counted and seconds > 0 else None


def io_links(sys_folder: Path = Path("/sys")) -> dict[str, float]:
    """Return what the PCI Express link of each disk and network card carries, in bytes per second.

    It is that of the narrowest link between the device and the processor; devices without one are left out.
    """
    links: dict[str, float] = {}
    for kind in ("block", "net"):
        for device in sorted((sys_folder / "class" / kind).glob("*/device")):
            path = device.resolve()
            rates = [rate for folder in (path, *path.parents) if (rate := _link_rate(folder)) is not None]
            if rates:
                links[device.parent.name] = min(rates)
    return links


def _link_rate(device: Path) -> float | None:
    with suppress(OSError, ValueError):
        speed = re.match(r"([\d.]+) GT/s", (device / "current_link_speed").read_text("ascii"))
        width = int((device / "current_link_width").read_text("ascii"))
        if speed and width:
            coded = 8 / 10 if float(speed[1]) < _CODED_DENSELY else 128 / 130
            return float(speed[1]) * 1e9 / 8 * coded * width
    return None


def measure_link(peer: tuple[str, int], seconds: float) -> float:
    """Send to a peer that :func:`receive` for a time; return the bytes per second it received.

    Raises SesError when it is not there or goes away.
    """
    piece = bytes(_PIECE)
    try:
        with socket.create_connection(peer, timeout=_PATIENCE_SECONDS) as connection:
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            received = int(connection.makefile("rb").readline())
            return received / (time.monotonic() - began)
    except (OSError, ValueError) as error:
        raise SesError(
            f"The link to {peer[0]}:{peer[1]} was not measured: {error}. Start ses calibrate --node "
            "--listen ADDRESS:PORT there first."
        ) from None


def receive(server: socket.socket) -> int:
    """Receive what one peer sends, answer how many bytes that were, and return that."""
    connection, _ = server.accept()
    connection.settimeout(_PATIENCE_SECONDS)
    buffer, received = bytearray(_PIECE), 0
    with connection:
        while count := connection.recv_into(buffer):
            received += count
        connection.sendall(f"{received}\n".encode())
    return received


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of ``n2:5201`` or ``[::1]:5201``; raises UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not int(port) < 65536:
        raise UsageError(f"{text!r} is no HOST:PORT.")
    return host.strip("[]"), int(port)


def _copy_rate(size: int, rounds: int) -> float:
    """Bytes per second of processor time; the C call leaves Python to other threads."""
    with mmap.mmap(-1, size) as source, mmap.mmap(-1, size) as target:
        first, second = ctypes.c_char.from_buffer(source), ctypes.c_char.from_buffer(target)
        try:
            start, end = ctypes.addressof(first), ctypes.addressof(second)
            ctypes.memset(start, 1, size)  # its pages are there before the clock starts
            ctypes.memset(end, 2, size)
            return max(_one_copy(end, start, size) for _ in range(rounds))
        finally:
            del first, second  # a buffer that is exported cannot be closed


def _one_copy(end: int, start: int, size: int) -> float:
    began = time.thread_time_ns()
    ctypes.memmove(end, start, size)
    return size * 1e9 / max(time.thread_time_ns() - began, 1)
