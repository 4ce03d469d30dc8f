"""Measuring what a node gives to streaming programs: copying by its cores, its memory bus, a link to a peer.

Copies are timed by the processor time of the thread that makes them, so that other work on the node counts
only as far as it takes memory bandwidth; the best of several rounds counts.  A copy crosses the memory bus
twice (a load and a store).  Does not measure I/O buses; buffers lie on whatever socket the kernel chooses.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ses_client.errors import SesError, UsageError

BUFFER_BYTES = 64 * 2**20
ROUNDS = 8
_PIECE = 2**20
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class NodeRates:
    """Bytes per second; ``cores`` are those this process may use, ``link`` None when no peer was asked."""

    cores: int
    core_copy: float
    all_copy: float
    link: float | None = None

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
    return NodeRates(cores, alone, max(alone, together))


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
