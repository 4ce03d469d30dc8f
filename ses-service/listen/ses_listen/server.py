"""The HTTP server of service, monitor and portal: uvicorn, one process, one event loop.

Ends on SIGTERM or SIGINT.  With uvloop and httptools, because parsing and answering happen in one thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from uvicorn import Config, Server

from ses_listen.connection import ARRIVAL, Connection
from ses_listen.places import MAX_PLACES
from ses_listen.tls import FollowedTls

_BACKLOG = 4096
_WATCHDOG_PAUSE = 5.0  # seconds between two words to systemd's watchdog


class ListenError(Exception):
    """An address cannot be listened on; the message says why."""


class Listener:
    """A socket at ``HOST:PORT``; connections are refused until it is served."""

    def __init__(self, listen: str, tls: FollowedTls | None = None) -> None:
        """Bind.  Raises ListenError."""
        host, _, port = listen.rpartition(":")
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host.strip("[]"), int(port), type=socket.SOCK_STREAM
            )[0]
            self.socket = socket.socket(family, kind, protocol)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(address)
        except (OSError, ValueError, OverflowError) as error:
            raise ListenError(f"cannot listen on {listen}: {getattr(error, 'strerror', error)}") from None
        self.tls = tls

    @property
    def url(self) -> str:
        """Where clients find it."""
        host, port = self.socket.getsockname()[:2]
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: a connection is kept without a request, and requests have to end when the server does."""

    kept_open: int = 75  # longer than the longest pause between two announcements of an agent
    grace: int = 5


def serve(
    app: Any,
    listener: Listener,
    *,
    ready: Callable[[], None],
    ending: Callable[[], None] = lambda: None,
    local: socket.socket | None = None,
    connection: type[Connection] = Connection,
    headers: tuple[tuple[str, str], ...] = (),
    times: Times = Times(),
    most: int = MAX_PLACES,
) -> None:
    """Serve until a signal to end comes; ``ready`` is called when connections are accepted.

    ``app`` is an ASGI application with an ``intake``.  There are ``most`` connections at once, and no more
    than three quarters of the files this process may open.  At ``local``, a UNIX socket, plain HTTP that does
    not leave the machine.  ``ending`` is called, in the loop, before requests get their ``grace``.  Must be
    called from the main thread.
    """
    app.intake.places.most = min(most, _allow_many_connections() * 3 // 4)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # no client may fill the log
    options: dict[str, Any] = {
        "loop": "uvloop",
        "http": connection,
        "ws": "none",
        "lifespan": "off",
        "interface": "asgi3",
        "timeout_keep_alive": times.kept_open,
        "timeout_graceful_shutdown": times.grace,
        "access_log": False,
        "log_config": None,
        "proxy_headers": False,
        "server_header": False,
        "date_header": False,
        "headers": list(headers),
    }
    _Server(Config(app, **options), listener, local, ready, ending).run()


class _Server(Server):
    def __init__(
        self,
        config: Config,
        listener: Listener,
        local: socket.socket | None,
        ready: Callable[[], None],
        ending: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._listener = listener
        self._local = local
        self._ready = ready
        self._ending = ending
        self._reported = -_WATCHDOG_PAUSE

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """Accept connections, and say so."""
        loop, tls = asyncio.get_running_loop(), self._listener.tls
        secured: dict[str, Any] = {}
        if tls is not None:
            secured = {
                "ssl": tls.context,
                "ssl_handshake_timeout": ARRIVAL,
                "ssl_shutdown_timeout": ARRIVAL,
            }
        self.servers = [
            await loop.create_server(
                self._connection, sock=self._listener.socket, backlog=_BACKLOG, **secured
            )
        ]
        if self._local is not None:
            self.servers.append(
                await loop.create_unix_server(self._connection, sock=self._local, backlog=_BACKLOG)
            )
        self.started = True
        self._ready()
        notify_systemd("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        """Take no more connections, and end those there are."""
        self._ending()
        await super().shutdown()

    async def on_tick(self, counter: int) -> bool:
        """Report to the watchdog that the event loop goes on."""
        if time.monotonic() - self._reported >= _WATCHDOG_PAUSE:
            self._reported = time.monotonic()
            notify_systemd("WATCHDOG=1")
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on a signal, once, and let the caller finish; there is nothing to read again on SIGHUP."""
        kept = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        kept[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)

    def _connection(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol


def notify_systemd(state: str) -> None:
    """Notify systemd, if it started this process and waits for that (sd_notify(3))."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            notices.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)


def _allow_many_connections() -> int:
    """Raise the limit of open files as far as the system lets us: each agent may keep a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
