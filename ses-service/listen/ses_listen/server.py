"""The HTTP server of service, monitor and portal: one process, one event loop.

Ends on SIGTERM or SIGINT.  With uvloop and httptools, because parsing and answering happen in one thread.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvloop

from ses_listen.connection import ARRIVAL, KEPT_OPEN, Connection, Served
from ses_listen.places import MAX_PLACES
from ses_listen.request import Application
from ses_listen.tls import FollowedTls

_BACKLOG = 4096
_WATCHDOG_PAUSE = 5.0  # seconds between two words to systemd's watchdog
_OBJECTS = 50_000  # that came to live since garbage was looked for
_LOOK_AGAIN = 0.05  # seconds, whether all connections are closed


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

    kept_open: float = KEPT_OPEN
    grace: float = 5.0


def serve(
    app: Application,
    listener: Listener,
    *,
    ready: Callable[[], None],
    ending: Callable[[], None] = lambda: None,
    local: socket.socket | None = None,
    local_client: Callable[[int], str | None] = lambda _: None,
    headers: Sequence[tuple[bytes, bytes]] = (),
    times: Times = Times(),
    most: int = MAX_PLACES,
) -> None:
    """Serve until a signal to end comes; ``ready`` is called when connections are accepted.

    There are ``most`` connections at once, and no more than three quarters of the files this process may
    open.  At ``local``, a UNIX socket, plain HTTP that does not leave the machine; ``local_client`` names who
    is at the other end of a connected one.  ``headers`` are in each answer.  ``ending`` is called, in the
    loop, before requests get their ``grace``.  Must be called from the main thread.
    """
    app.intake.places.most = min(most, _allow_many_connections() * 3 // 4)
    served = Served(app, headers, times.kept_open, local_client)

    async def whole() -> None:
        loop, signalled = asyncio.get_running_loop(), asyncio.Event()
        with _signals(lambda: loop.call_soon_threadsafe(signalled.set)):
            servers = [await _listen(served, listener)]
            if local is not None:
                unix = loop.create_unix_server(lambda: Connection(served), sock=local, backlog=_BACKLOG)
                servers.append(await unix)
            ready()
            notify_systemd("READY=1")
            while not signalled.is_set():
                notify_systemd("WATCHDOG=1")  # the event loop goes on
                with suppress(TimeoutError):
                    await asyncio.wait_for(signalled.wait(), _WATCHDOG_PAUSE)
            ending()
            for server in servers:
                server.close()
            await _end(served.connections, times.grace)

    uvloop.run(whole())


async def _listen(served: Served, listener: Listener) -> asyncio.Server:
    secured: dict[str, Any] = {}
    if listener.tls is not None:
        secured = {
            "ssl": listener.tls.context,
            "ssl_handshake_timeout": ARRIVAL,
            "ssl_shutdown_timeout": ARRIVAL,
        }
    return await asyncio.get_running_loop().create_server(
        lambda: Connection(served), sock=listener.socket, backlog=_BACKLOG, **secured
    )


async def _end(connections: set[Connection], grace: float) -> None:
    """Close connections, those that are answered after their answers, but not later than that."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + grace
    for connection in list(connections):
        connection.shut_down()
    while connections and loop.time() < ends:
        await asyncio.sleep(_LOOK_AGAIN)


@contextmanager
def _signals(end: Callable[[], object]) -> Iterator[None]:
    """End on a signal, and let the caller finish; there is nothing to read again on SIGHUP."""
    kept = {number: signal.signal(number, lambda *_: end()) for number in (signal.SIGTERM, signal.SIGINT)}
    kept[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def collect_rarely() -> None:
    """Let Python look for circles of garbage rarely, and not among what lives already: all wait meanwhile.

    What is read again and again (samples, answers) goes by its reference counts; the default looks through it
    all the same, after every 700 objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 10, 10)


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
