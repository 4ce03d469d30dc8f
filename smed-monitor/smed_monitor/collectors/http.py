"""Getting the bytes of one target over HTTP, within a time and a size, whatever the target does.

Does not follow redirects, use proxies or accept compression: an exporter needs none of them, and
each is a way to be sent somewhere else or more than was asked for.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from http.client import HTTPException
from urllib.parse import urlsplit

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as HTTPTimeoutError

from smed_monitor.collectors.base import Reply
from smed_monitor.errors import DeadlineError, ReplyError, UnreachableError
from smed_monitor.model import now
from smed_monitor.settings import Target

CHUNK_BYTES = 256 * 1024
HEADERS = {
    "Accept": "text/plain;version=0.0.4,*/*;q=0.1",
    "Accept-Encoding": "identity",
    "User-Agent": "smed-monitor",
}


class HttpSource:
    """One target and its kept-alive connection.

    The time-out covers one whole question.  The socket's own time-out does not: a target that sends
    a byte now and then would never meet it, so a timer shuts the connection down.  Only looking up
    the host's name can last longer, as long as the resolver's own limits.
    """

    def __init__(self, target: Target) -> None:
        parts = urlsplit(target.url)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._secure = parts.scheme == "https"
        self._timeout = target.timeout_seconds
        self._limit = target.max_reply_bytes
        self._connection: HTTPConnection | None = None

    def read(self) -> Reply:
        """Ask once; asks again on another connection only when a kept-alive one turns out to be closed."""
        deadline = time.monotonic() + self._timeout
        reused = self._connection is not None
        try:
            return self._ask(deadline)
        except UnreachableError:
            if not reused:
                raise
        return self._ask(deadline)

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, deadline: float) -> Reply:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise DeadlineError(self._too_late())
        expired = threading.Event()
        sockets: list[socket.socket] = []
        timer = threading.Timer(seconds, _cut, (sockets, expired))
        timer.daemon = True
        timer.start()
        keep = False
        try:
            connection = self._connected(seconds)
            # Remembered here because http.client forgets the socket of a reply without a length.
            sockets.append(connection.sock)
            reply = self._exchange(connection, expired)
            keep = connection.sock is not None
            return reply
        except (OSError, HTTPError, HTTPException, ValueError) as error:
            if expired.is_set() or _timed_out(error):
                raise DeadlineError(self._too_late()) from error
            raise UnreachableError(_cause(error)) from error
        finally:
            timer.cancel()
            if not keep:
                self.close()

    def _connected(self, seconds: float) -> HTTPConnection:
        if self._connection is None:
            kind = HTTPSConnection if self._secure else HTTPConnection
            self._connection = kind(self._host, self._port, timeout=seconds)
            self._connection.connect()
        return self._connection

    def _exchange(self, connection: HTTPConnection, expired: threading.Event) -> Reply:
        if expired.is_set():
            raise DeadlineError(self._too_late())
        connection.request("GET", self._path, headers=HEADERS, preload_content=False)
        response = connection.getresponse()
        at = now()
        if response.status != 200:
            raise ReplyError(f"answered with HTTP status {response.status} instead of 200")
        chunks: list[bytes] = []
        size = 0
        while chunk := response.read1(CHUNK_BYTES):
            size += len(chunk)
            if size > self._limit:
                raise ReplyError(f"sent more than {self._limit} bytes (max_reply_bytes)")
            chunks.append(chunk)
        if expired.is_set():
            raise DeadlineError(self._too_late())
        return Reply(body=b"".join(chunks), at=at)

    def _too_late(self) -> str:
        return f"gave no whole answer within {self._timeout:g} s (timeout_seconds)"


def _cut(sockets: list[socket.socket], expired: threading.Event) -> None:
    """Wake whoever waits on one of ``sockets``; runs in the timer's thread."""
    expired.set()
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _timed_out(error: Exception) -> bool:
    # urllib3 calls a refused connection a kind of connect time-out.
    slow = isinstance(error, (TimeoutError, HTTPTimeoutError))
    return slow and not isinstance(error, NewConnectionError)


def _cause(error: Exception) -> str:
    """The innermost reason, in words: urllib3 wraps the system's own."""
    inner: BaseException = error
    while (deeper := inner.__cause__ or inner.__context__) is not None:
        inner = deeper
    text = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(inner)
    return f"cannot be reached: {text or type(inner).__name__}"
