"""Waiting until something is created on a branch of a union, by anybody.

By fanotify (Linux 5.1, as root), which costs nothing while nothing is created.  Branches on file systems that
report no creates (FUSE, network) are passed over: what is created there is seen at the next look.
"""

from __future__ import annotations

import ctypes
import os
import select
from collections.abc import Iterable

_INIT = 0x1 | 0x2 | 0x200  # FAN_CLOEXEC, FAN_NONBLOCK, FAN_REPORT_FID
_ADD_FILE_SYSTEM = 0x1 | 0x100  # FAN_MARK_ADD, FAN_MARK_FILESYSTEM
_CREATE = 0x100  # FAN_CREATE
_AT_FDCWD = -100
_EVENTS_BYTES = 1 << 16


class Creations:
    """Reports that something was created.  Where fanotify cannot be used, it only waits."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._events = self._library.fanotify_init(ctypes.c_uint(_INIT), ctypes.c_uint(os.O_RDONLY))

    def close(self) -> None:
        """Watch no longer."""
        if self._events >= 0:
            os.close(self._events)
        self._events = -1

    def watch(self, branches: Iterable[str]) -> bool:
        """Watch these branches too, also if they are watched, as after a mount; returns whether all are."""
        marked = [
            self._library.fanotify_mark(
                ctypes.c_int(self._events),
                ctypes.c_uint(_ADD_FILE_SYSTEM),
                ctypes.c_uint64(_CREATE),
                ctypes.c_int(_AT_FDCWD),
                ctypes.c_char_p(os.fsencode(path)),
            )
            for path in branches
        ]
        return not any(marked)

    def wait(self, seconds: float) -> bool:
        """Return true as soon as something is created, false after ``seconds``."""
        watched = [self._events] if self._events >= 0 else []
        ready, _, _ = select.select(watched, [], [], max(0.0, seconds))
        return bool(ready and os.read(self._events, _EVENTS_BYTES))
