"""One connection of a client: what uvicorn leaves open about it.

uvicorn sets no limit to a request's head nor to the time a request takes to arrive; it sends head and
body of an answer apart; and it begins a task for each request, with a scope, messages and an event, which
takes a third of the time of a decision.  What :class:`ses_service.http.edge.Edge` answers itself is therefore
handed to it as soon as it has arrived, and the answer is written as it comes back.  Everything else, and what
turns out to be doubtful, goes the way of uvicorn, as if it had arrived only then.
"""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import Any, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ses_service.api import versions
from ses_service.api.render import Reply
from ses_service.http.edge import REFUSED_AFTER, Asked, Edge
from ses_service.security.unix_socket import remote_of

_ARRIVAL = 10.0  # seconds a request may take to arrive
_HEAD = 64 * 1024  # bytes of request line and headers
_PIECE = 4 * 1024  # bytes looked at together: there may be many small requests in them


class _OnePiece:
    """A transport that sends head and body of an answer in one piece.

    Two pieces are two system calls, and wake the client for a head that is of no use alone.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""

    def write(self, data: bytes) -> None:
        """Send what was held back and this, or hold a head back for its body, or the loop's next pass."""
        if self._transport.is_closing():  # they hung up: uvicorn's task does not know yet
            self._head = b""
        elif data.startswith(b"HTTP/1.1 ") and not self._head:
            self._head = data
            self._loop.call_soon(self._send_held)
        else:
            held, self._head = self._head, b""
            self._transport.write(held + data)

    def write_whole(self, answer: bytes) -> None:
        """Send what was held back, and a whole answer."""
        held, self._head = self._head, b""
        self._transport.write(held + answer if held else answer)

    def close(self) -> None:
        """Send what was held back, and close."""
        self._send_held()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _send_held(self) -> None:
        held, self._head = self._head, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)


class _Flow(FlowControl):
    """uvicorn's, which is told to read on whenever a request begins to be answered."""

    stopped = False  # there is something to look at first

    def resume_reading(self) -> None:
        """Read on, if that is for now."""
        if not self.stopped:
            super().resume_reading()


class _Awaited:
    """Stands where uvicorn keeps the request that is being answered, for one that is not uvicorn's."""

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.response_complete = False
        self.disconnected = False
        self.message_event = self

    def set(self) -> None:
        """Nobody waits for more of the request."""


class Connection(HttpToolsProtocol):
    """A connection whose requests must arrive whole, in time and with a head of bounded size.

    A request that would be refused for overload is refused before its body is read: refusing must cost much
    less than answering.  What comes after a request that waits its turn is not looked at before: an
    unanswered request takes a hundred times the memory of its bytes.
    """

    _head: int | None = 0
    _arrival: asyncio.TimerHandle | None = None
    _arriving = False
    _asked: Asked | None = None
    _refused = False
    _came = 0.0
    _body = bytearray()  # another one for each request
    _counted = 0  # bytes of it, and of what is not looked at yet, that the intake counts
    _later = b""  # not looked at yet
    _looking = False
    _reading: _Flow

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(cast(asyncio.Transport, _OnePiece(transport, self.loop)))
        if self.client is None and (plain := transport.get_extra_info("socket")) is not None:
            local = remote_of(plain.fileno())
            self.client = None if local is None else (local, 0)
        self.flow = self._reading = _Flow(self.transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._arrived()
        self._later = b""
        self._discount()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, as long as the head is not too large, up to a request that has to wait its turn."""
        if self._later or self._looking:
            self._keep(self._later + data)
        else:
            self._look(data)

    def on_response_complete(self) -> None:
        """Go on with the next request; read on only when everything that is here was looked at."""
        super().on_response_complete()
        if self._later and not self._looking:
            later, self._later = self._later, b""
            self._discount()
            self._look(later)
            self._reading.stopped = bool(self._later)
            self.flow.resume_reading()

    def _look(self, data: bytes) -> None:
        """Look at bytes in pieces: what arrives together with the head may be a large body, or requests."""
        self._looking = True
        try:
            for start in range(0, len(data), _PIECE):
                if self.transport.is_closing():
                    return
                if self.pipeline:
                    self._keep(data[start:])
                    return
                piece = data[start : start + _PIECE]
                if self._head is not None:
                    self._head += len(piece)
                    if self._head > _HEAD:
                        self.send_400_response("The request's head is too large.")
                        return
                super().data_received(piece)
        finally:
            self._looking = False
        if self._arriving and self._arrival is None:
            self._expect()

    def _keep(self, data: bytes) -> None:
        """Look at these later, and read no more until then."""
        more = len(data) - len(self._later)
        if not self._edge.intake.take(more):
            self.transport.close()
            return
        self._counted += more
        self._later = data
        self.flow.pause_reading()
        self._reading.stopped = True

    def _discount(self) -> None:
        """Count what is not held any more no longer."""
        self._edge.intake.give_back(self._counted - len(self._later))
        self._counted = len(self._later)

    def on_message_begin(self) -> None:
        """Note that a request has its time to arrive, if it is not here yet."""
        super().on_message_begin()
        self._arriving = True

    def on_headers_complete(self) -> None:
        """See who answers, and whether there is too much to do."""
        self._head = None
        self._asked = self._asks()
        self._refused = self._asked is not None and self._edge.overloaded(
            self._asked, self.headers, self.client
        )
        if self._asked is None:
            super().on_headers_complete()
        else:
            self._came, self._body = time.perf_counter(), bytearray()

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that is answered."""
        if self._asked is None:
            super().on_body(body)
        elif not self._refused and not self._edge.intake.take(len(body)):
            self._refused, self._body = True, bytearray()
            self._discount()
        elif not self._refused:
            self._counted += len(body)
            self._body += body
            if len(self._body) > self._edge.max_body:
                self._leave()

    def on_message_complete(self) -> None:
        """Answer what is answered here."""
        self._head = 0
        self._arriving = False
        self._arrived()
        self._discount()
        if self._asked is None:
            super().on_message_complete()
            return
        self.cycle = waiting = _Awaited(self.parser.should_keep_alive())  # type: ignore[assignment]
        if self._refused:
            self.loop.call_later(REFUSED_AFTER, self._send, waiting, self._edge.refusal)
            return
        if not self._edge.answer(
            self._asked,
            self.headers,
            self.client,
            bytes(self._body),
            self._came,
            lambda reply: self._send(waiting, reply),
        ):
            waiting.response_complete = True
            self._leave()
            super().on_message_complete()

    @property
    def _edge(self) -> Edge:
        return cast(Edge, self.config.app)

    def _asks(self) -> Asked | None:
        """Return what the request asks of the edge, if nothing about it is out of the ordinary."""
        if (
            self.parser.get_method() != b"POST"
            or b"?" in self.url
            or b"%" in self.url
            or self.expect_100_continue
            or self.parser.get_http_version() != "1.1"
            or self.parser.should_upgrade()
            or self.flow.write_paused
            or not (self.cycle is None or self.cycle.response_complete)
        ):
            return None
        return self._edge.operation(self.url.decode("latin-1"))

    def _leave(self) -> None:
        """Leave the request to uvicorn, as far as it has arrived."""
        self._asked, body = None, bytes(self._body)
        super().on_headers_complete()
        super().on_body(body)

    def _send(self, waiting: _Awaited, reply: Reply) -> None:
        """Send a whole answer to the request that waits for it, and go on with the next."""
        waiting.response_complete = True
        if waiting.disconnected or self.transport.is_closing():
            return
        self.transport.write_whole(_whole(reply, waiting.keep_alive))  # type: ignore[attr-defined]
        if waiting.keep_alive:
            self.on_response_complete()
        else:
            self.transport.close()

    def _expect(self) -> None:
        self._arrival = self.loop.call_later(_ARRIVAL, self.timeout_keep_alive_handler)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None


def _whole(reply: Reply, keep: bool) -> bytes:
    """Return the whole answer as bytes."""
    return b"%b%d\r\n\r\n%b" % (_head(reply.status, reply.headers, keep), len(reply.body), reply.body)


@lru_cache(256)
def _head(status: int, headers: tuple[tuple[str, str], ...], keep: bool) -> bytes:
    """Return the head of an answer up to the number of bytes of its body."""
    lines = [f"{name.lower()}: {value}\r\n".encode("latin-1") for name, value in headers]
    lines.append(f"{versions.HEADER.lower()}: {versions.OWN}\r\n".encode("latin-1"))
    if not keep:
        lines.append(b"connection: close\r\n")
    return b"".join((STATUS_LINE[status], *lines, b"content-length: "))
