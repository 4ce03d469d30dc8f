"""Getting the bytes of one target over HTTP, within a time and a size, whatever the target does.

Does not follow redirects, use proxies or accept compression: an exporter needs none of them, and
each is a way to be sent somewhere else or more than was asked for.  Speaks the little of HTTP/1.1 an
exporter needs itself: with a library, 500 targets a second cost more than understanding their pages.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from smed_monitor.collectors.base import Arrival, Reply, Source
from smed_monitor.config.settings import Target
from smed_monitor.core.errors import CollectorError, DeadlineError, ReplyError, UnreachableError
from smed_monitor.core.model import Moment, now

CHUNK_BYTES = 64 * 1024
MAX_HEAD = 64 * 1024
SLACK = 0.05
LAST_CHUNK = b"\r\n0\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,18})", re.IGNORECASE)
TIMEVAL = struct.Struct("@ll")


class Head(NamedTuple):
    """The start of an answer; ``length`` ``None``: the body lasts as long as the connection."""

    status: int
    length: int | None
    chunked: bool
    keeps: bool


class HttpSource(Source):
    """One target and its kept-alive connection.

    The time-out covers one whole question: every wait is for what is left of it.  Only looking up the
    host's name can last longer, as long as the resolver's own limits.
    """

    def __init__(self, target: Target) -> None:
        parts = urlsplit(target.url or "")
        self._host = parts.hostname or ""
        self._tls = ssl.create_default_context(cafile=target.ca_file) if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: smed-monitor\r\n"
            "Accept: text/plain;version=0.0.4,*/*;q=0.1\r\nAccept-Encoding: identity\r\n\r\n"
        ).encode()
        self._timeout = target.timeout_seconds
        self._limit = target.max_reply_bytes
        self._socket: socket.socket | None = None
        self._deadline = 0.0
        self._bound = 0.0
        self._buffer = bytearray()
        self._asked = False
        self._begun: Moment | None = None

    def ask(self) -> int | None:
        """Ask over the kept-alive connection; ``None`` where there is none, or one that may have to wait."""
        if self._socket is None or self._tls is not None:
            return None
        try:
            self._asked = self._socket.send(self._request, socket.MSG_DONTWAIT) == len(self._request)
        except OSError:
            self._asked = False
        if not self._asked:
            self.close()
            return None
        self._deadline = time.monotonic() + self._timeout
        return self._socket.fileno()

    def arrived(self) -> Arrival:
        """Take in what has come; a whole answer is one that ``read`` need not wait for."""
        assert self._socket is not None
        try:
            received = self._socket.recv(CHUNK_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return Arrival.PARTLY
        except OSError:
            return Arrival.NEVER
        if not received:
            return Arrival.NEVER
        self._begun = self._begun or now()
        self._buffer += received
        end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEAD)
        if len(self._buffer) > (self._limit if end >= 0 else MAX_HEAD):
            return Arrival.NEVER
        return Arrival.WHOLE if end >= 0 and _is_whole(self._buffer, end) else Arrival.PARTLY

    def read(self, deadline: float | None = None) -> Reply:
        """The answer; asks again on another connection only when a kept-alive one turns out to be closed.

        ``deadline`` (monotonic) is for a question that is one of several within the time-out.
        """
        if not self._asked:
            self._deadline = time.monotonic() + self._timeout if deadline is None else deadline
        reused = self._socket is not None
        try:
            return self._answer()
        except UnreachableError:
            if not reused:
                raise
        return self._answer()

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._socket = self._socket, None
        self._buffer = bytearray()
        self._asked, self._begun = False, None
        if connection is not None:
            connection.close()

    def _answer(self) -> Reply:
        keep = False
        try:
            if self._socket is None:
                self._socket = self._connected()
            if not self._asked:
                self._limit_next_wait(self._socket)
                self._socket.sendall(self._request)
            head, at = self._head()
            body = self._body(head)
            self._asked, self._begun = False, None
            keep = head.keeps and not self._buffer
            return Reply(body=body, at=at)
        except (TimeoutError, BlockingIOError) as error:
            raise self._too_late() from error
        except CollectorError:
            raise
        except (OSError, ValueError) as error:
            raise UnreachableError(f"cannot be reached: {_cause(error)}") from error
        finally:
            if not keep:
                self.close()

    def _connected(self) -> socket.socket:
        plain = socket.create_connection((self._host, self._port), timeout=self._left())
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            plain.settimeout(None)  # _limit_next_wait bounds every wait
            self._bound = 0.0
            return plain
        plain.settimeout(self._left())
        return self._tls.wrap_socket(plain, server_hostname=self._host)

    def _head(self) -> tuple[Head, Moment]:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD or not b"HTTP/1.".startswith(self._buffer[:7]):
                raise ValueError("does not answer by HTTP")
            self._more()
        at = self._begun or now()
        head = _head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        if head.status != 200:
            raise ReplyError(f"answered with HTTP status {head.status} instead of 200")
        return head, at

    def _body(self, head: Head) -> bytes:
        if head.chunked:
            return self._chunks()
        if head.length is not None:
            return self._exactly(head.length, 0)
        while True:
            self._within(len(self._buffer))
            if not self._more(may_end=True):
                return self._exactly(len(self._buffer), 0)

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            length = int(self._line().split(b";")[0], 16)
            if length == 0:
                while self._line():
                    pass
                return b"".join(parts)
            parts.append(self._exactly(length, size))
            size += length
            if self._line():
                raise ValueError("sent a chunk longer than announced")

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise ValueError("sent an endless line")
            self._more()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _exactly(self, length: int, before: int) -> bytes:
        if length < 0:
            raise ValueError("gave a length below zero")
        self._within(before + length)
        while len(self._buffer) < length:
            self._more()
        part = bytes(self._buffer[:length])
        del self._buffer[:length]
        return part

    def _more(self, *, may_end: bool = False) -> bool:
        assert self._socket is not None
        self._limit_next_wait(self._socket)
        received = self._socket.recv(CHUNK_BYTES)
        if not received and not may_end:
            raise ValueError("the connection was closed in the middle")
        self._buffer += received
        return bool(received)

    def _limit_next_wait(self, connection: socket.socket) -> None:
        """Let the next wait last no longer than what is left, within a twentieth of the time-out.

        The kernel keeps the limit of a plain connection, so that a target that answers at once costs one
        call to ask and one to read; with Python's own, six.
        """
        left = self._left()
        if self._tls is not None:
            connection.settimeout(left)
        elif abs(left - self._bound) > SLACK * self._timeout:
            limit = TIMEVAL.pack(int(left), max(1, int(left % 1 * 1e6)))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            self._bound = left

    def _within(self, size: int) -> None:
        if size > self._limit:
            raise ReplyError(f"sent more than {self._limit} bytes (max_reply_bytes)")

    def _left(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise self._too_late()
        return seconds

    def _too_late(self) -> DeadlineError:
        return DeadlineError(f"gave no whole answer within {self._timeout:g} s (timeout_seconds)")


def _head(text: bytes) -> Head:
    lines = text.split(b"\r\n")
    words = lines[0].split(maxsplit=2)
    if len(words) < 2 or not words[1].isdigit():
        raise ValueError("does not answer by HTTP")
    length, chunked = None, False
    keeps = words[0] == b"HTTP/1.1"
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip().lower()
        if name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = value == b"chunked"
        elif name == b"connection" and value == b"close":
            keeps = False
    return Head(int(words[1]), length, chunked, keeps and (chunked or length is not None))


def _is_whole(answer: bytearray, end: int) -> bool:
    """Whether ``answer`` (head up to ``end``) seems complete; one that lasts as the connection never does."""
    if answer.endswith(LAST_CHUNK):
        return True
    length = LENGTH.search(answer, 0, end)
    return length is not None and len(answer) >= end + 4 + int(length[1])


def _cause(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
