"""One connection of a client: what the edge answers goes past uvicorn.

uvicorn begins a task for each request, with a scope, messages and an event, which is a sixth of the event
loop's time for a decision.  What :class:`ses_service.http.edge.Edge` answers itself is therefore handed to it
as soon as it has arrived, and the answer is written as it comes back.  Everything else, and what turns out to
be doubtful, goes the way of uvicorn, as if it had arrived only then.
"""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import cast

from ses_listen.connection import Connection as LimitedConnection
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ses_service.api import versions
from ses_service.api.render import Reply
from ses_service.http.edge import REFUSED_AFTER, Asked, Edge
from ses_service.security.unix_socket import remote_of


class _NobodyWaits:
    """Stands where uvicorn keeps the event that more of the request has arrived."""

    def set(self) -> None:
        """Nobody waits for more of the request."""


class _Awaited:
    """Stands where uvicorn keeps the request that is being answered, for one that is not uvicorn's."""

    message_event = _NobodyWaits()

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.response_complete = False
        self.disconnected = False


class Connection(LimitedConnection):
    """A connection whose requests the edge may answer.

    A request that would be refused for overload is refused before its body is read: refusing must cost much
    less than answering.
    """

    _asked: Asked | None = None
    _overloaded = False
    _came = 0.0
    _body = bytearray()  # another one for each request
    _edge: Edge

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._edge = cast(Edge, self.config.app)

    def local_client(self) -> tuple[str, int] | None:
        """Return who is at a UNIX socket: the kernel says it."""
        plain = self.transport.get_extra_info("socket")
        local = None if plain is None else remote_of(plain.fileno())
        return None if local is None else (local, 0)

    def on_headers_complete(self) -> None:
        """See who answers, and whether there is too much to do."""
        self._asked = self._asks()
        self._overloaded = self._asked is not None and self._edge.overloaded(
            self._asked, self.headers, self.client
        )
        if self._asked is None:
            super().on_headers_complete()
        else:
            self.head_is_here()
            self._came, self._body = time.perf_counter(), bytearray()

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that is answered."""
        if self._asked is None:
            super().on_body(body)
        elif not self._overloaded and not self.count(len(body)):
            self._overloaded, self._body = True, bytearray()
        elif not self._overloaded:
            self._body += body
            if len(self._body) > self._edge.max_body:
                self._leave()

    def on_message_complete(self) -> None:
        """Answer what is answered here."""
        if self._asked is None:
            super().on_message_complete()
            return
        self.arrived_whole()
        self.cycle = waiting = _Awaited(self.parser.should_keep_alive())  # type: ignore[assignment]
        if self._overloaded:
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

    def _asks(self) -> Asked | None:
        """Return what the request asks of the edge, if nothing about it is out of the ordinary."""
        if (
            b"?" in self.url
            or b"%" in self.url
            or self.expect_100_continue
            or self.parser.get_http_version() != "1.1"
            or self.parser.should_upgrade()
            or self.flow.write_paused
            or not (self.cycle is None or self.cycle.response_complete)
        ):
            return None
        return self._edge.operation(self.url.decode("latin-1"), self.parser.get_method().decode())

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
        self.transport.write(_whole(reply, waiting.keep_alive))
        if waiting.keep_alive:
            self.on_response_complete()
        else:
            self.transport.close()


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
