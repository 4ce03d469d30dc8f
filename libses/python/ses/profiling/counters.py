"""Events of the processor, and calls, that perf_event_open(2) counts for programs started from here.

They are opened, disabled, in this process.  What it starts from then on inherits them, and enables them when
it becomes a program (exec), so that nothing has to wait for its counters.

Each event is asked for by itself: a virtual machine often has none of the processor's, and calls of the
kernel by name need tracefs and the right to see it.  Each also makes starting a process slower, so what the
kernel adds up anyway (page faults, context switches: getrusage(2)) is not asked for here.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from contextlib import suppress
from pathlib import Path

_NUMBER = {"x86_64": 298, "aarch64": 241, "ppc64le": 319}.get(os.uname().machine)
_HARDWARE, _TRACEPOINT = 0, 2
_EVENTS = {
    "instructions": (_HARDWARE, 1),
    "cache misses": (_HARDWARE, 3),
}
CALLS = {
    "opens": ("openat", "open", "creat"),
    "stats": ("newfstatat", "statx", "newstat", "newlstat"),
    "names made or removed": ("mkdirat", "mkdir", "unlinkat", "unlink", "renameat2", "rename", "linkat"),
    "syncs": ("fsync", "fdatasync"),
}
_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_INHERIT_AT_EXEC = 1 | 2 | 1 << 12  # disabled, inherit, enable_on_exec
_SIZE = 128


class Counters:
    """Counts events of what is started before ``close``; closes what it opened with that."""

    def __init__(self, calls: bool = False) -> None:
        """Begin; ``calls``: also calls of the kernel, which makes every call on the machine slower."""
        self._open: dict[str, list[int]] = {}
        self.refused: dict[str, str] = {}
        wanted = {name: [event] for name, event in _EVENTS.items()}
        for name, functions in CALLS.items() if calls else ():
            numbers = [number for function in functions if (number := _tracepoint(function)) is not None]
            if numbers:
                wanted[name] = [(_TRACEPOINT, number) for number in numbers]
            else:
                self.refused[name] = "tracefs is not to be seen"
        for name, events in wanted.items():
            for kind, config in events:
                descriptor, why = _opened(kind, config)
                if descriptor < 0:
                    self.refused[name] = why
                else:
                    self._open.setdefault(name, []).append(descriptor)

    def read(self) -> dict[str, int]:
        """Return what was counted so far."""
        return {name: sum(map(_value, descriptors)) for name, descriptors in self._open.items()}

    def close(self) -> None:
        """Stop counting."""
        for descriptor in (descriptor_of for several in self._open.values() for descriptor_of in several):
            os.close(descriptor)
        self._open.clear()


def _value(descriptor: int) -> int:
    return int(struct.unpack("Q", os.read(descriptor, 8))[0])


def _opened(kind: int, config: int) -> tuple[int, str]:
    if _NUMBER is None:
        return -1, f"not on {os.uname().machine}"
    attributes = ctypes.create_string_buffer(_SIZE)
    struct.pack_into("IIQ", attributes, 0, kind, _SIZE, config)
    struct.pack_into("Q", attributes, 40, _INHERIT_AT_EXEC | (1 << 5 if kind == _HARDWARE else 0))
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(_NUMBER, attributes, 0, -1, -1, 1 << 3)  # this process; close-on-exec
    number = ctypes.get_errno()
    why = "this machine has no such counter" if number == errno.ENOENT else os.strerror(number)
    return descriptor, why if descriptor < 0 else ""


def _tracepoint(function: str) -> int | None:
    for root in _TRACEFS:
        with suppress(OSError, ValueError):
            return int((root / f"events/syscalls/sys_enter_{function}/id").read_text())
    return None
