"""One connection of a client: requests of HTTP/1.1 come in, are answered in their order, and answers go out.

A request must arrive whole, in time and with a head of bounded size.  What comes after a request that is not
answered yet is not looked at before: an unanswered request takes a hundred times the memory of its bytes.
Nor is it while the client does not read what was sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import cast
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url

from ses_listen.problems import MALFORMED, Answer, RawHeaders, head_too_large
from ses_listen.request import Application, Ends, Request

ARRIVAL = 10.0  # seconds a handshake, and then each request, may take to arrive
HEAD = 64 * 1024  # bytes of request line and headers
KEPT_OPEN = 75.0  # seconds; longer than the longest pause between two announcements of an agent
_PIECE = 4 * 1024  # bytes looked at together: there may be many small requests in them
_LINGER = 2.0  # seconds a client has to read why it was refused, while it may still be sending
_STATUS = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}


@dataclass(slots=True)
class Served:
    """What all connections of a server share.

    ``headers`` are in each answer; a connection without a request is closed after ``kept_open`` seconds;
    ``local_client`` names who is at the other end of a UNIX socket.
    """

    app: Application
    headers: Sequence[tuple[bytes, bytes]] = ()
    kept_open: float = KEPT_OPEN
    local_client: Callable[[int], str | None] = lambda _: None
    connections: set[Connection] = field(default_factory=set)


class Connection(asyncio.Protocol):
    """A connection whose requests must arrive whole, in time and with a head of bounded size."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._app = served.app
        self._intake = served.app.intake
        self._loop = asyncio.get_running_loop()
        self._parser = HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._transport: asyncio.Transport
        self._ends: Ends
        self._url = b""
        self._headers: RawHeaders = []
        self._request: Request | None = None  # the one that arrives, until it is whole or too large
        self._body = bytearray()
        self._head: int | None = 0  # bytes of it so far, until it is here
        self._expects = False  # to be asked for the body
        self._arriving = False
        self._arrival: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None  # one for many answers: a timer is dear
        self._idle_since: float | None = None  # the last answer, unless a request began after it
        self._waiting = deque[Request]()  # those that came in one piece with the one that is answered
        self._answered: Request | None = None
        self._wrong: Answer | None = None  # to what is no request, when all before it is answered
        self._refused = False
        self._later = b""  # not looked at yet
        self._looking = False
        self._counted = 0  # bytes of what is not looked at yet, and of a body, that the intake counts
        self._paused = False
        self._unread = False  # much that was sent is not read by the client
        self._last = False  # the server ends

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        self._transport = cast(asyncio.Transport, transport)
        peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not isinstance(peer, tuple):
            plain = transport.get_extra_info("socket")
            local = None if plain is None else self._served.local_client(plain.fileno())
            peer = None if local is None else (local, 0)
        self._ends = Ends(
            None if peer is None else (str(peer[0]), int(peer[1])),
            (str(own[0]), int(own[1])) if isinstance(own, tuple) else ("localhost", 80),
            "http" if transport.get_extra_info("sslcontext") is None else "https",
        )
        self._expect()
        self._served.connections.add(self)
        self._intake.places.take(self._who, self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Wait no more."""
        self._served.connections.discard(self)
        self._intake.places.leave(self._who, self)
        self._arrived()
        if self._idle is not None:
            self._idle.cancel()
        self._waiting.clear()
        self._later = b""
        self._discount()
        if self._answered is not None:
            self._answered.hang_up()
            self._answered = None
        del self._parser  # it refers to this connection

    def data_received(self, data: bytes) -> None:
        """Take bytes, as long as the head is not too large, up to a request that has to wait its turn."""
        if self._refused:
            return
        if self._later or self._is_busy:
            self._keep(self._later + data)
        else:
            self._go_on(data)

    def pause_writing(self) -> None:
        """Answer nothing more until the client reads."""
        self._unread = True

    def resume_writing(self) -> None:
        """Go on."""
        self._unread = False
        if not self._looking:
            self._go_on()

    @property
    def idle(self) -> bool:
        """Whether no request is answered now."""
        return self._answered is None

    def evict(self) -> None:
        """Let another connection have this one's place."""
        self._transport.abort()

    def shut_down(self) -> None:
        """Close, after the answer to what is answered now."""
        self._last = True
        if self._answered is None:
            self._transport.close()

    @property
    def _who(self) -> str:
        return self._ends.client[0] if self._ends.client else ""

    @property
    def _is_busy(self) -> bool:
        """Whether what comes has to wait."""
        return self._answered is not None or bool(self._waiting) or self._unread or self._wrong is not None

    def _go_on(self, data: bytes = b"") -> None:
        """Begin to answer what is here; look at what came after it, or is new, as far as that is answered.

        In pieces: what arrives together with the head may be a large body, or requests.
        """
        self._looking = True
        try:
            self._begin()
            if not self._is_busy and self._later:
                data, self._later = self._later + data, b""
                self._discount()
            for start in range(0, len(data), _PIECE):
                if self._refused or self._transport.is_closing():
                    return
                if self._is_busy:
                    self._keep(data[start:])
                    return
                self._look(data[start : start + _PIECE])
                self._begin()
        finally:
            self._looking = False
        if self._is_busy or self._transport.is_closing():
            return
        if self._arriving and self._arrival is None:
            self._expect()
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _look(self, piece: bytes) -> None:
        if self._head is not None:
            self._head += len(piece)
            if self._head > HEAD:
                self._wrong = head_too_large(HEAD)
                return
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            pass  # answered as if nothing else had been offered
        except HttpParserError:
            self._wrong = MALFORMED

    def _begin(self) -> None:
        """Begin to answer what is whole, in its order."""
        while self._answered is None and not self._unread and not self._transport.is_closing():
            if self._waiting:
                request = self._answered = self._waiting.popleft()
                self._app.answer(request, partial(self._send, request))
                continue
            if self._wrong is not None and not self._refused:
                self._refuse(self._wrong)
            elif self._expects:
                self._expects = False
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return

    def _send(self, request: Request, answer: Answer) -> None:
        """Send an answer, if anybody waits for it."""
        if request is not self._answered:
            return
        self._answered = None
        if self._transport.is_closing():
            return
        keep = request.keep_alive and not self._last
        self._write(answer, keep=keep, body=request.method != "HEAD")
        if not keep:
            self._transport.close()
            return
        if not self._arriving:
            self._rest()
        if not self._looking:
            self._go_on()

    def _write(self, answer: Answer, *, keep: bool, body: bool = True) -> None:
        lines = [_STATUS[answer.status]]
        lines += [b"%b: %b\r\n" % header for header in (*self._served.headers, *answer.headers)]
        lines.append(b"\r\n" if keep else b"connection: close\r\n\r\n")
        if body:
            lines.append(answer.body)
        self._transport.write(b"".join(lines))

    def _refuse(self, answer: Answer) -> None:
        """Answer and end the connection; the client may still be sending, and must be able to read why."""
        self._refused, self._later = True, b""
        self._arrived()
        self._discount()
        self._write(answer, keep=False)
        self._idle_since = None
        self._arrival = self._loop.call_later(_LINGER, self._close)
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _rest(self) -> None:
        """Note that the connection has no request from now on."""
        self._idle_since = self._loop.time()
        if self._idle is None:
            self._idle = self._loop.call_later(self._served.kept_open, self._close_if_idle)

    def _close_if_idle(self) -> None:
        """Close if no request came for as long as a connection is kept; else look again, when one is idle."""
        self._idle = None
        if self._idle_since is None:
            return
        left = self._idle_since + self._served.kept_open - self._loop.time()
        if left > 0:
            self._idle = self._loop.call_later(left, self._close_if_idle)
        else:
            self._close()

    def _close(self) -> None:
        """Close, also where the client does not read what was sent."""
        if not self._transport.is_closing():
            self._transport.close()
        self._arrival = self._loop.call_later(_LINGER, self._transport.abort)

    def _keep(self, data: bytes) -> None:
        """Look at these later, and read no more until then."""
        more = len(data) - len(self._later)
        if not self._intake.take(more):
            self._transport.close()
            return
        self._counted += more
        self._later = data
        if not self._paused and not self._transport.is_closing():
            self._paused = True
            self._transport.pause_reading()

    def _discount(self) -> None:
        """Count what is not held any more no longer."""
        held = len(self._later)
        if self._counted != held:
            self._intake.give_back(self._counted - held)
            self._counted = held

    def _expect(self) -> None:
        self._arrival = self._loop.call_later(ARRIVAL, self._close)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Note that a request has its time to arrive, if it is not here yet."""
        self._url, self._headers, self._body = b"", [], bytearray()
        self._idle_since = None
        self._arriving = True

    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one that comes after the body is none of the request's."""
        if self._head is not None:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Count the head no more; see whether the request is looked at at all."""
        self._head = None
        parsed, parser = parse_url(self._url), self._parser
        target = parsed.path or b"/"
        path = target.decode("ascii")
        version = parser.get_http_version()
        self._request = Request(
            parser.get_method().decode("ascii"),
            unquote(path) if "%" in path else path,
            target,
            parsed.query or b"",
            self._headers,
            self._ends,
            version,
            version != "1.0" and parser.should_keep_alive(),
        )
        if not self._app.reads(self._request):
            self._request.body = None
        if any(name == b"expect" and value.lower() == b"100-continue" for name, value in self._headers):
            self._expects = True

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that is answered, as far as the application reads it."""
        self._expects = False
        request = self._request
        if request is None or request.body is None:
            return
        if not self._intake.take(len(body)):
            request.body = None
            self._body.clear()
            self._discount()
            return
        self._counted += len(body)
        self._body += body
        if len(self._body) > self._app.max_body:
            self._whole(request)

    def on_message_complete(self) -> None:
        """Have the request answered, and wait for the next one's head, without end."""
        self._head = 0
        self._arriving = self._expects = False
        self._arrived()
        if self._request is not None:
            self._whole(self._request)
        elif self._answered is None:
            self._rest()

    def _whole(self, request: Request) -> None:
        """Have a request wait for its turn; what still comes of its body is dropped."""
        self._request = None
        if request.body is not None:
            request.body = bytes(self._body[: self._app.max_body + 1])
        self._body = bytearray()
        self._discount()
        self._waiting.append(request)
