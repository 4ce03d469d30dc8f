"""Getting the bytes of one target over HTTP, within a time and a size, whatever the target does.

Does not follow redirects, use proxies or accept compression: an exporter needs none of them, and
each is a way to be sent somewhere else or more than was asked for.  llhttp (by httptools) reads the
answers; the connections are our own: with those of a library, 500 targets a second cost more than
understanding their pages.
"""

import socket
import ssl
import struct
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from smed_monitor.collectors.base import Arrival, Reply, Source
from smed_monitor.config.settings import Target
from smed_monitor.core.errors import CollectorError, DeadlineError, ReplyError, UnreachableError
from smed_monitor.core.model import Moment, now

CHUNK_BYTES = 64 * 1024
MAX_HEAD = 64 * 1024
SLACK = 0.05
TIMEVAL = struct.Struct("@ll")


class Answer:
    """An answer as far as it has come, at most ``limit`` bytes of it."""

    def __init__(self, limit: int) -> None:
        self.is_whole = False
        self.keeps = False  # the connection may be used again
        self._limit = limit
        self._parser = HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._size = 0
        self._head = 0  # bytes that came before the end of the head, in whole pieces
        self._has_head = False
        self._lasts_as_connection = True
        self._fault: ReplyError | None = None

    @property
    def body(self) -> bytes:
        """What has come of the body."""
        return b"".join(self._parts)

    def feed(self, received: bytes) -> None:
        """Take in what was received; raises ReplyError, and ValueError for what is no answer by HTTP."""
        if not received:
            if not self._has_head or not self._lasts_as_connection:
                raise ValueError("the connection was closed in the middle")
            self.is_whole = True
            return
        try:
            self._parser.feed_data(received)
        except HttpParserUpgrade:
            pass  # of status 101, which on_headers_complete found
        except HttpParserError as error:
            self.keeps = False
            if not self.is_whole:
                raise ValueError(f"does not answer by HTTP: {error}") from error
        if self._fault is not None:
            raise self._fault
        if not self._has_head:
            self._head += len(received)
            if self._head > MAX_HEAD:
                raise ValueError("does not answer by HTTP: its head is too long")

    def on_message_begin(self) -> None:
        """Called by the parser: a second answer, to no question, ends the connection."""
        self.keeps = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self._lasts_as_connection = False
        if name == b"content-length" and int(value) > self._limit:
            self._fault = self._too_large()

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self._has_head = True
        if (status := self._parser.get_status_code()) != 200:
            self._fault = ReplyError(f"answered with HTTP status {status} instead of 200")

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        self._size += len(part)
        if self._size > self._limit:
            self._fault = self._fault or self._too_large()
        elif self._fault is None:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self.is_whole = True
        self.keeps = self._parser.should_keep_alive()

    def _too_large(self) -> ReplyError:
        return ReplyError(f"sent more than {self._limit} bytes (max_reply_bytes)")


class Authority:
    """By whom the certificates of a target are signed; ``file`` (PEM) is followed, ``None``: the system's.

    A file that cannot be used leaves the last good one in use.
    """

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._stamp = self._present()
        self._context = ssl.create_default_context(cafile=file)

    def context(self) -> ssl.SSLContext:
        """Return what the next connection is made with."""
        with suppress(OSError):  # of which that of a bad certificate is one
            if (stamp := self._present()) != self._stamp:
                self._context, self._stamp = ssl.create_default_context(cafile=self._file), stamp
        return self._context

    def _present(self) -> tuple[int, int, int] | None:
        if self._file is None:
            return None
        status = Path(self._file).stat()
        return status.st_mtime_ns, status.st_size, status.st_ino


class HttpSource(Source):
    """One target and its kept-alive connection.

    The time-out covers one whole question: every wait is for what is left of it.  Only looking up the
    host's name can last longer, as long as the resolver's own limits.
    """

    def __init__(self, target: Target) -> None:
        parts = urlsplit(target.url or "")
        self._host = parts.hostname or ""
        self._tls = Authority(target.ca_file) if parts.scheme == "https" else None
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
        self._reply = Answer(self._limit)
        self._fault: Exception | None = None
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
        self._begun = self._begun or now()
        try:
            self._reply.feed(received)
        except (ReplyError, ValueError) as error:
            self._fault = error
            return Arrival.NEVER
        return Arrival.WHOLE if self._reply.is_whole else Arrival.PARTLY

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
        self._reply = Answer(self._limit)
        self._asked, self._begun, self._fault = False, None, None
        if connection is not None:
            connection.close()

    def _answer(self) -> Reply:
        keep = False
        try:
            if self._fault is not None:
                raise self._fault
            if self._socket is None:
                self._socket = self._connected()
            if not self._asked:
                self._limit_next_wait(self._socket)
                self._socket.sendall(self._request)
            while not self._reply.is_whole:
                self._limit_next_wait(self._socket)
                received = self._socket.recv(CHUNK_BYTES)
                self._begun = self._begun or now()
                self._reply.feed(received)
            keep, reply = self._reply.keeps, Reply(body=self._reply.body, at=self._begun or now())
            self._reply, self._asked, self._begun = Answer(self._limit), False, None
            return reply
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
        return self._tls.context().wrap_socket(plain, server_hostname=self._host)

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

    def _left(self) -> float:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise self._too_late()
        return seconds

    def _too_late(self) -> DeadlineError:
        return DeadlineError(f"gave no whole answer within {self._timeout:g} s (timeout_seconds)")


def _cause(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
