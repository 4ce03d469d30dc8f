"""One connection of a client: what uvicorn leaves open about it.

uvicorn sets no limit to a request's head nor to the time a request takes to arrive.  Here a request must
arrive whole, in time and with a head of bounded size.  What comes after a request that is not answered yet is
not looked at before: an unanswered request takes a hundred times the memory of its bytes.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ses_listen.intake import Intake
from ses_listen.problems import MALFORMED, Answer, head_too_large

ARRIVAL = 10.0  # seconds a handshake, and then each request, may take to arrive
HEAD = 64 * 1024  # bytes of request line and headers
_PIECE = 4 * 1024  # bytes looked at together: there may be many small requests in them
_LINGER = 2.0  # seconds a client has to read why it was refused, while it may still be sending


class Application(Protocol):
    """What a connection asks of the ASGI application behind it."""

    @property
    def intake(self) -> Intake:
        """What unanswered requests hold in memory."""


class _UntilClosed:
    """A transport that drops what is written after they hung up: uvicorn's task does not know that yet."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Send, if there is anybody to send to."""
        if not self.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Flow(FlowControl):
    """uvicorn's, which reads on whenever a request begins to be answered, or the client hung up."""

    stopped = False  # there is something to look at first

    def pause_reading(self) -> None:
        """Read no more, if there is anything to read."""
        if not self._transport.is_closing():
            super().pause_reading()

    def resume_reading(self) -> None:
        """Read on, if that is for now."""
        if not self.stopped and not self._transport.is_closing():
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """A connection whose requests must arrive whole, in time and with a head of bounded size."""

    _who = ""
    _head: int | None = 0
    _arrival: asyncio.TimerHandle | None = None
    _arriving = False
    _counted = 0  # bytes of what is not looked at yet, and of a body, that the intake counts
    _idle: asyncio.TimerHandle | None = None  # one for many answers: a timer is dear
    _idle_since: float | None = None  # the last answer, unless a request began after it
    _later = b""  # not looked at yet
    _looking = False
    _refused = False
    _reading: _Flow
    intake: Intake  # what all connections hold together

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(cast(asyncio.Transport, _UntilClosed(transport)))
        self.intake = cast(Application, self.config.app).intake
        self.flow = self._reading = _Flow(self.transport)
        self._expect()
        self.client = self.client or self.local_client()
        self._who = self.client[0] if self.client else ""
        self.intake.places.take(self._who, self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self.intake.places.leave(self._who, self)
        self._arrived()
        if self._idle is not None:
            self._idle.cancel()
        self._later = b""
        self._discount()
        super().connection_lost(exc)

    def local_client(self) -> tuple[str, int] | None:
        """Return who is at the other end, where that is no address of a network."""
        return None

    @property
    def idle(self) -> bool:
        """Whether no request is answered now."""
        return self.cycle is None or self.cycle.response_complete

    def evict(self) -> None:
        """Let another connection have this one's place."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes, as long as the head is not too large, up to a request that has to wait its turn."""
        if self._refused:
            return
        if self._later or self._looking:
            self._keep(self._later + data)
        else:
            self._look(data)

    def on_response_complete(self) -> None:
        """Go on with the next request; read on only when everything that is here was looked at."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
        else:
            self.server_state.total_requests += 1
            self.flow.resume_reading()
            self._idle_since = self.loop.time()
            if self._idle is None:
                self._idle = self.loop.call_later(self.timeout_keep_alive, self._end_if_idle)
        if self._later and not self._looking:
            later, self._later = self._later, b""
            self._discount()
            self._look(later)
            self._reading.stopped = bool(self._later)
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Say that this is no request."""
        self.refuse(MALFORMED)

    def refuse(self, answer: Answer) -> None:
        """Answer and end the connection; the client may still be sending, and must be able to read why."""
        self._refused, self._later = True, b""
        self._arrived()
        self._discount()
        headers = [*self.server_state.default_headers, *answer.headers, (b"connection", b"close")]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[answer.status], lines, answer.body))
        self._idle_since = None
        self._arrival = self.loop.call_later(_LINGER, self.timeout_keep_alive_handler)

    def _end_if_idle(self) -> None:
        """Close if no request came for as long as a connection is kept; else look again, when one is idle."""
        self._idle = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._idle = self.loop.call_later(left, self._end_if_idle)
        else:
            self.timeout_keep_alive_handler()

    def timeout_keep_alive_handler(self) -> None:
        """Close, also where the client does not read what was sent."""
        super().timeout_keep_alive_handler()
        self._arrival = self.loop.call_later(_LINGER, self.transport.abort)

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if nothing else had been offered; no client may fill the log."""

    def _look(self, data: bytes) -> None:
        """Look at bytes in pieces: what arrives together with the head may be a large body, or requests."""
        self._looking = True
        try:
            for start in range(0, len(data), _PIECE):
                if self._refused or self.transport.is_closing():
                    return
                if self.pipeline:
                    self._keep(data[start:])
                    return
                piece = data[start : start + _PIECE]
                if self._head is not None:
                    self._head += len(piece)
                    if self._head > HEAD:
                        self.refuse(head_too_large(HEAD))
                        return
                super().data_received(piece)
        finally:
            self._looking = False
        if self._arriving and self._arrival is None:
            self._expect()

    def _keep(self, data: bytes) -> None:
        """Look at these later, and read no more until then."""
        more = len(data) - len(self._later)
        if not self.intake.take(more):
            self.transport.close()
            return
        self._counted += more
        self._later = data
        self.flow.pause_reading()
        self._reading.stopped = True

    def _discount(self) -> None:
        """Count what is not held any more no longer."""
        held = len(self._later)
        if self._counted != held:
            self.intake.give_back(self._counted - held)
            self._counted = held

    def on_message_begin(self) -> None:
        """Note that a request has its time to arrive, if it is not here yet."""
        super().on_message_begin()
        self._idle_since = None
        self._arriving = True

    def on_headers_complete(self) -> None:
        """Count the head no more."""
        self.head_is_here()
        super().on_headers_complete()

    def head_is_here(self) -> None:
        """Count the head no more: what comes now is a body."""
        self._head = None

    def count(self, size: int) -> bool:
        """Count bytes of a body until all of it is here; ``False``: they are too many, none count."""
        if not self.intake.take(size):
            self._discount()
            return False
        self._counted += size
        return True

    def on_message_complete(self) -> None:
        """Note that the request is here."""
        self.arrived_whole()
        super().on_message_complete()

    def arrived_whole(self) -> None:
        """Wait for the next request's head, without end."""
        self._head = 0
        self._arriving = False
        self._arrived()
        self._discount()

    def _expect(self) -> None:
        self._arrival = self.loop.call_later(ARRIVAL, self.timeout_keep_alive_handler)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None
