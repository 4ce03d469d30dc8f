"""A UNIX socket for the programs of this machine: the kernel says which user each of them is.

Everybody may connect; what they may do depends on who they are (:mod:`ses_service.api.authentication`).
"""

import errno
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from ses_client.peer import peer_uid

_PREFIX = "uid:"


class LocalListenerError(Exception):
    """The socket cannot be listened on; the message says why and what to do."""


class LocalListener:
    """A listening socket at a path, which is removed at the end if it is still the same."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _make_room(path)
            before = os.umask(0o111)
            try:
                self.socket.bind(str(path))
            finally:
                os.umask(before)
            self.socket.listen(socket.SOMAXCONN)
        except OSError as error:
            self.socket.close()
            raise LocalListenerError(f"cannot listen on {path}: {error.strerror or error}") from None
        self._made = _mark(path)

    def close(self) -> None:
        """Listen no more."""
        self.socket.close()
        with suppress(OSError):
            if _mark(self.path) == self._made:
                self.path.unlink()


def _mark(path: Path) -> tuple[int, int, int]:
    """Return what distinguishes a file from one made later, which may have the same inode number."""
    status = path.lstat()
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _make_room(path: Path) -> None:
    """Remove what a process of ours that is gone left behind."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise LocalListenerError(f"{path} is something else; remove it or choose another --socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) != errno.ECONNREFUSED:
            raise LocalListenerError(f"another process listens on {path}; stop it or choose another --socket")
    path.unlink()


def remote_of(descriptor: int) -> str | None:
    """Return who is at the other end of a connected UNIX socket, as an address; ``None`` for another kind."""
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.family != socket.AF_UNIX:
            return None
        return f"{_PREFIX}{peer_uid(connection)}"


def uid_of(remote: str) -> int | None:
    """Return the user an address of :func:`remote_of` stands for; ``None`` for other addresses."""
    text = remote.removeprefix(_PREFIX)
    return int(text) if text != remote and text.isdecimal() else None
