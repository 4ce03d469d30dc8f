"""The HTTP server: uvicorn, one process, one event loop; ends on SIGTERM or SIGINT.

One process because the ledger lives in its memory.  uvicorn with uvloop and httptools, because parsing
and answering happen in one thread: servers that hand a request from their own thread to Python's cost
a short answer two to four times as much time.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from apiflask import APIFlask
from uvicorn import Config, Server

from ses_service.api import versions
from ses_service.http.connection import Connection
from ses_service.http.edge import Edge
from ses_service.process.garbage_collection import collecting
from ses_service.security.tls import FollowedTls
from ses_service.security.unix_socket import LocalDoor

_BACKLOG = 4096
_KEPT_OPEN = 75  # seconds; longer than the longest pause between two announcements of an agent
_GRACE = 5  # seconds requests that are being answered have when the service ends
# Seconds a thread that stores or reads much may hold up the one that answers.  Much shorter turns cost more
# than they spare, since those threads wait while somebody is answered (:mod:`ses_service.threads.give_way`).
_SWITCH = 0.001
_WATCHDOG_PAUSE = 5.0  # seconds between two words to systemd's watchdog


class _Server(Server):
    def __init__(self, config: Config, ready: Callable[[], None], door: LocalDoor | None) -> None:
        super().__init__(config)
        self._ready = ready
        self._door = door
        self._told = -_WATCHDOG_PAUSE

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and say so."""
        await super().startup(sockets)
        if self._door is not None:
            self.servers.append(
                await asyncio.get_running_loop().create_unix_server(
                    lambda: Connection(
                        config=self.config, server_state=self.server_state, app_state=self.lifespan.state
                    ),
                    sock=self._door.socket,
                    backlog=_BACKLOG,
                )
            )
        self._ready()
        _tell_systemd("READY=1")

    async def on_tick(self, counter: int) -> bool:
        """Tell the watchdog that the event loop goes on."""
        if time.monotonic() - self._told >= _WATCHDOG_PAUSE:
            self._told = time.monotonic()
            _tell_systemd("WATCHDOG=1")
        return await super().on_tick(counter)

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


def _tell_systemd(state: str) -> None:
    """Tell what started this process, if that wants to know (sd_notify(3))."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            notices.sendto(state.encode(), "\0" + path[1:] if path[0] == "@" else path)


def numeric_address(host: str, port: int) -> str:
    """Return the address a host name stands for.

    Raises OSError when it stands for none or cannot be listened on.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
    return str(address[0])


def serve(
    app: APIFlask,
    address: str,
    port: int,
    *,
    ready: Callable[[], None],
    tls: FollowedTls | None = None,
    door: LocalDoor | None = None,
) -> None:
    """Serve until a signal to end comes; ``ready`` is called when connections are accepted.

    With ``tls``, by https; at ``door``, too, by plain HTTP that does not leave the machine. ``address``
    comes from :func:`numeric_address`. Must be called from the main thread.
    """
    sys.setswitchinterval(_SWITCH)
    _allow_many_connections()
    memory = collecting()
    edge = Edge(app)
    options: dict[str, Any] = {
        "host": address,
        "port": port,
        "loop": "uvloop",
        "http": Connection,
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
        "headers": [(versions.HEADER, versions.OWN)],
    }
    memory.start()
    try:
        if tls is not None:
            options["ssl_context_factory"] = lambda *_: tls.context
        _Server(Config(edge, **options), ready, door).run()
    finally:
        edge.close()
        memory.stop()


def _allow_many_connections() -> None:
    """Raise the limit of open files as far as the system lets us: each agent may keep a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
