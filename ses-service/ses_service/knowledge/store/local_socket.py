"""Connections to a server on a UNIX socket, for an HTTP client that knows only addresses."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import NewConnectionError
from urllib3.util.timeout import Timeout

_MAX_PATH = 100
"""Bytes of a path that fit into the address of a socket, a few less."""


class SocketPool(urllib3.HTTPConnectionPool):
    """Connections to the socket ``path``; a request names what it wants behind ``address``.

    ``why`` says, where nobody listens, what is known about that.  Every request says in ``Ses-Seconds`` how
    long its answer is waited for.
    """

    def __init__(self, path: Path, maxsize: int = 8, why: Callable[[], str] = lambda: "") -> None:
        super().__init__("localhost", maxsize=maxsize, retries=False)
        self._path = path
        self._why = why

    @property
    def address(self) -> str:
        """What the socket is called."""
        return f"unix:{self._path}"

    def urlopen(self, method: str, url: str, *given: Any, **options: Any) -> urllib3.BaseHTTPResponse:
        """Send a request and return its answer; raises what the class below does."""
        timeout = options.get("timeout")
        if isinstance(timeout, Timeout) and timeout.read_timeout:
            headers = {**(options.get("headers") or {}), "Ses-Seconds": f"{timeout.read_timeout:g}"}
            options["headers"] = headers
        return super().urlopen(method, url.removeprefix(self.address), *given, **options)

    def _new_conn(self) -> HTTPConnection:
        return _Connection(self._path, self._why)


class _Connection(HTTPConnection):
    def __init__(self, path: Path, why: Callable[[], str]) -> None:
        super().__init__("localhost")
        self._path = path
        self._why = why

    def _new_conn(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self.timeout if isinstance(self.timeout, int | float) else None)
        try:
            _connect(connection, self._path)
        except OSError as error:
            connection.close()
            raise NewConnectionError(self, self._why() or f"{error.strerror or error}") from None
        return connection


def _connect(made: socket.socket, path: Path) -> None:
    if len(os.fsencode(path)) <= _MAX_PATH:
        made.connect(str(path))
        return
    directory = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        made.connect(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.close(directory)
