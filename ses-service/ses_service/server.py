"""The HTTP server: uvicorn, one process, one event loop; ends on SIGTERM or SIGINT.

One process because the ledger lives in its memory.  uvicorn with uvloop and httptools, because parsing
and answering happen in one thread: servers that hand a request from their own thread to Python's cost
a short answer two to four times as much time.

uvicorn sets no limits to a request's head nor to the time it takes to arrive; both are added here.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from apiflask import APIFlask
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ses_service.edge import Edge
from ses_service.memory import collecting

_BACKLOG = 4096
_KEPT_OPEN = 75  # seconds; longer than the longest pause between two announcements of an agent
_ARRIVAL = 10.0  # seconds a request may take to arrive
_HEAD = 64 * 1024  # bytes of request line and headers
_GRACE = 5  # seconds requests that are being answered have when the service ends
_SWITCH = 0.0005  # seconds a thread that reads a large sample may hold up one that answers


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


class _Protocol(HttpToolsProtocol):
    """A connection whose requests must arrive whole, in time and with a head of bounded size."""

    _head: int | None = 0
    _arrival: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _OnePiece(transport, self.loop)))
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += len(data)
            if self._head > _HEAD:
                self.send_400_response("The request's head is too large.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._arrival is None:
            self._expect()

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        self._arrived()
        super().on_message_complete()

    def _expect(self) -> None:
        self._arrival = self.loop.call_later(_ARRIVAL, self.timeout_keep_alive_handler)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None


class _Server(Server):
    def __init__(self, config: Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and say so."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on a signal, once, and let the caller finish; there is nothing to read again on SIGHUP."""
        kept = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGTERM, signal.SIGINT)}
        kept[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            yield
        finally:
            for one, handler in kept.items():
                signal.signal(one, handler)


def numeric_address(host: str, port: int) -> str:
    """Return the address a host name stands for.

    Raises OSError when it stands for none or cannot be listened on.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
    return str(address[0])


def serve(app: APIFlask, address: str, port: int, *, ready: Callable[[], None]) -> None:
    """Serve until a signal to end comes; ``ready`` is called when connections are accepted.

    ``address`` comes from :func:`numeric_address`.  Must be called from the main thread.
    """
    sys.setswitchinterval(_SWITCH)
    _allow_many_connections()
    memory = collecting()
    edge = Edge(app)
    options: dict[str, Any] = {
        "host": address,
        "port": port,
        "loop": "uvloop",
        "http": _Protocol,
        "ws": "none",
        "lifespan": "off",
        "interface": "asgi3",
        "backlog": _BACKLOG,
        "timeout_keep_alive": _KEPT_OPEN,
        "timeout_graceful_shutdown": _GRACE,
        "access_log": False,
        "log_config": None,
        "proxy_headers": False,
        "server_header": False,
        "date_header": False,
    }
    memory.start()
    try:
        _Server(Config(edge, **options), ready).run()
    finally:
        edge.close()
        memory.stop()


def _allow_many_connections() -> None:
    """Raise the limit of open files as far as the system lets us: each agent may keep a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
