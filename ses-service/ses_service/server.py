"""The HTTP server: granian, one process, a few threads; ends on SIGTERM or SIGINT.

One process because the ledger lives in its memory, and no child process that could be left behind:
granian's server with threads in place of worker processes is used.  granian offers it for Pythons
without the global lock; with the lock it serves as well, only its check has to be passed over (a test
starts and stops a real server, so an upgrade that changes this is noticed).
"""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable
from typing import Any

from apiflask import APIFlask
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mt import MTServer

_THREADS = 4
_WAITING = 256
_SWITCH = 0.0005  # seconds a thread that reads a large sample may hold up one that answers


class _OneProcess(MTServer):
    def _check_gil(self) -> None:
        """Serve with the global lock, too."""

    def signal_handler_reload(self, *args: Any, **kwargs: Any) -> None:
        """Ignore SIGHUP: there is nothing to read again."""


def numeric_address(host: str, port: int) -> str:
    """Return the address a host name stands for (granian takes no names).

    Raises OSError when it stands for none or cannot be listened on (granian would panic).
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
    return str(address[0])


def serve(app: APIFlask, address: str, port: int, *, ready: Callable[[], None]) -> None:
    """Serve until a signal to end comes; ``ready`` is called just before connections are accepted.

    ``address`` comes from :func:`numeric_address`.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()  # what is loaded by now stays; collections need not visit it
    server = _OneProcess(
        "ses_service.app:create_app",
        address=address,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=_THREADS,
        backpressure=_WAITING,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=5000),
        websockets=False,
        log_enabled=False,
        log_level=LogLevels.warning,
    )
    server.on_startup(ready)

    def loaded(*_: Any, **__: Any) -> APIFlask:
        return app

    server.serve(target_loader=loaded, wrap_loader=False)
