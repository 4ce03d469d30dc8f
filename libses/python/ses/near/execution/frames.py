"""The bytes between this side and the runner: frames of one letter, a length and that many bytes.

Here to there: ``R`` the request (JSON), ``I`` standard input, ``Z`` its end, ``K`` a signal's number.
There to here: ``H`` the runner is there (once, first; the number of its job of Slurm); for each request ``N``
it cannot be done (text), or ``G`` the program has started (JSON), ``O`` its standard output, ``E`` standard
error, ``A`` one more ``I`` was taken, ``S`` one more ``K`` arrived, ``X`` how it ended (JSON), ``F`` why it
did not get all of its input (text).  After ``N``, ``X`` and ``F`` the next request may come.  The runner has
a copy of these few lines of its own: it is sent as one text.

Not by execnet (2.1.2): what a program writes waits in the memory of this side, without a bound (300 MB for
300 MB that nobody reads), and a program goes on when its gateway is killed.
"""

from __future__ import annotations

import struct
from typing import Protocol

HEAD = struct.Struct("!cI")
MAX_FRAME = 1 << 20
"""Bytes of a frame; more is no frame but something else that speaks (a banner of the node, for instance)."""


class Stream(Protocol):
    """Where frames come from: a file, or what a command prints."""

    def read(self, count: int, /) -> bytes:
        """Return that many bytes; fewer at the end."""


class NoFrameError(Exception):
    """What came is no frame; the text is its beginning."""


def written(kind: bytes, data: bytes = b"") -> bytes:
    """Return a frame."""
    return HEAD.pack(kind, len(data)) + data


def read(stream: Stream) -> tuple[bytes, bytes] | None:
    """Return the next frame of a stream, ``None`` at its end, also when it ends within a frame.

    Raises NoFrameError.
    """
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        if head:
            raise NoFrameError(_shown(head))
        return None
    kind, length = HEAD.unpack(head)
    if kind not in b"HGNOEASXF" or length > MAX_FRAME:
        raise NoFrameError(_shown(head + stream.read(200)))
    data = stream.read(length)
    return (kind, data) if len(data) == length else None


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()
