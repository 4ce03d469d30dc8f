"""Who is at the other end of a UNIX socket."""

from __future__ import annotations

import socket
import struct

_CREDENTIALS = struct.Struct("iII")  # struct ucred: pid, uid, gid


def peer_uid(connection: socket.socket) -> int:
    """Return the user who connected, or who listens there, as the kernel says (``SO_PEERCRED``)."""
    _, uid, _ = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(uid)
