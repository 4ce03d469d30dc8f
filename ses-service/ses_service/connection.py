"""One connection of a client: what uvicorn leaves open about it.

uvicorn sets no limit to a request's head nor to the time a request takes to arrive; it sends head and
body of an answer apart; and it begins a task for a request only to refuse it.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ses_service.edge import Edge
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


class Connection(HttpToolsProtocol):
    """A connection whose requests must arrive whole, in time and with a head of bounded size.

    A request that would be refused for overload is answered here, without a task of its own: refusing
    must cost much less than answering.
    """

    _head: int | None = 0
    _arrival: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(cast(asyncio.Transport, _OnePiece(transport, self.loop)))
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

    def on_message_begin(self) -> None:
        """Give the request its time to arrive."""
        super().on_message_begin()
        if self._arrival is None:
            self._expect()

    def on_headers_complete(self) -> None:
        """Begin to answer, unless there is too much to do."""
        self._head = None
        alone = self.cycle is None or self.cycle.response_complete
        self._refused = alone and self.parser.get_method() == b"POST" and self._edge.overloaded(self.url)
        if not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that is answered."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Answer at once if it is a refusal."""
        self._head = 0
        self._arrived()
        if not self._refused:
            super().on_message_complete()
            return
        self._refused = False
        keep = self.parser.should_keep_alive()
        self.transport.write(_refusal(self._edge.refusal, keep))
        if keep:
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self.transport.close()

    @property
    def _edge(self) -> Edge:
        return cast(Edge, self.config.app)

    def _expect(self) -> None:
        self._arrival = self.loop.call_later(_ARRIVAL, self.timeout_keep_alive_handler)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None


@cache
def _refusal(reply: Reply, keep: bool) -> bytes:
    """Return the whole answer as bytes."""
    headers = [*reply.raw_headers(), *([] if keep else [(b"connection", b"close")])]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return STATUS_LINE[reply.status] + lines + b"\r\n" + reply.body
