"""One connection of a client: what uvicorn leaves open about it.

uvicorn sets no limit to a request's head nor to the time a request takes to arrive; it sends head and
body of an answer apart; and it begins a task for each request, with a scope, messages and an event, which
takes a third of the time of a decision.  What :class:`ses_service.edge.Edge` answers itself is therefore
handed to it as soon as it has arrived, and the answer is written as it comes back.  Everything else, and what
turns out to be doubtful, goes the way of uvicorn, as if it had arrived only then.
"""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ses_service.edge import Asked, Edge
from ses_service.local_door import remote_of
from ses_service.render import Reply

_ARRIVAL = 10.0  # seconds a request may take to arrive
_HEAD = 64 * 1024  # bytes of request line and headers
_PIECE = 8 * 1024  # bytes looked at together where head and body may be too much for a head


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
        if data.startswith(b"HTTP/1.1 ") and not self._head:
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
        if self._head:
            held, self._head = self._head, b""
            self._transport.write(held)


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
    less than answering.
    """

    _head: int | None = 0
    _arrival: asyncio.TimerHandle | None = None
    _arriving = False
    _asked: Asked | None = None
    _refused = False
    _came = 0.0
    _body = bytearray()  # another one for each request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(cast(asyncio.Transport, _OnePiece(transport, self.loop)))
        if self.client is None and (plain := transport.get_extra_info("socket")) is not None:
            local = remote_of(plain.fileno())
            self.client = None if local is None else (local, 0)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, as long as the head is not too large.

        What arrives together with the head may be a large body: only pieces tell them apart.
        """
        whole = self._head is None or self._head + len(data) <= _HEAD
        size = max(1, len(data)) if whole else _PIECE
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            if self._head is not None:
                self._head += len(piece)
                if self._head > _HEAD:
                    self.send_400_response("The request's head is too large.")
                    return
            super().data_received(piece)
        if self._arriving and self._arrival is None:
            self._expect()

    def on_message_begin(self) -> None:
        """Note that a request has its time to arrive, if it is not here yet."""
        super().on_message_begin()
        self._arriving = True

    def on_headers_complete(self) -> None:
        """See who answers, and whether there is too much to do."""
        self._head = None
        self._asked = self._asks()
        self._refused = self._asked is not None and self._edge.overloaded(self._asked)
        if self._asked is None:
            super().on_headers_complete()
        else:
            self._came, self._body = time.perf_counter(), bytearray()

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that is answered."""
        if self._asked is None:
            super().on_body(body)
        elif not self._refused:
            self._body += body
            if len(self._body) > self._edge.max_body:
                self._leave()

    def on_message_complete(self) -> None:
        """Answer what is answered here."""
        self._head = 0
        self._arriving = False
        self._arrived()
        if self._asked is None:
            super().on_message_complete()
            return
        self.cycle = waiting = _Awaited(self.parser.should_keep_alive())  # type: ignore[assignment]
        if self._refused:
            self._send(waiting, self._edge.refusal)
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
    if not keep:
        lines.append(b"connection: close\r\n")
    return b"".join((STATUS_LINE[status], *lines, b"content-length: "))
