"""What a command prints, read until it ends or until :meth:`Incoming.end` is called."""

from __future__ import annotations

import os
import select
from typing import IO

_PIECE = 1 << 18
_LOOK_MILLISECONDS = 500  # a signal right before the wait does not end it: its handler runs after this


class Incoming:
    """The bytes of a pipe.  Read by one thread; :meth:`end` by any, and by a signal's handler."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._ended = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._kept = bytearray()
        self._poll = select.poll()
        for descriptor in (pipe.fileno(), self._ended):
            self._poll.register(descriptor, select.POLLIN)

    def read(self, count: int) -> bytes:
        """Return that many bytes; fewer at the end."""
        while len(self._kept) < count:
            ready = [descriptor for descriptor, _ in self._poll.poll(_LOOK_MILLISECONDS)]
            if self._ended in ready:
                break
            if not ready:
                continue
            data = os.read(self._pipe.fileno(), _PIECE)
            if not data:
                break
            self._kept += data
        whole = bytes(self._kept[:count])
        del self._kept[:count]
        return whole

    def end(self) -> None:
        """Let :meth:`read` wait for nothing any more."""
        os.eventfd_write(self._ended, 1)

    def close(self) -> None:
        """Give up both ends; nothing may be called afterwards."""
        self._pipe.close()
        os.close(self._ended)
