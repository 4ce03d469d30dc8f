"""The service's HTTP server: one process, because the ledger lives in its memory."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

from apiflask import APIFlask
from ses_listen.server import Listener
from ses_listen.server import serve as listen_and_serve
from ses_listen.tls import FollowedTls

from ses_service.api import versions
from ses_service.http.connection import Connection
from ses_service.http.edge import Edge
from ses_service.process.garbage_collection import collecting
from ses_service.security.unix_socket import LocalDoor

# Seconds a thread that stores or reads much may hold up the one that answers.  Much shorter turns cost more
# than they spare, since those threads wait while somebody is answered (:mod:`ses_service.threads.give_way`).
_SWITCH = 0.001


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
    memory = collecting()
    edge = Edge(app)
    memory.start()
    try:
        listen_and_serve(
            edge,
            Listener(f"{address}:{port}", tls),
            ready=ready,
            local=None if door is None else door.socket,
            connection=Connection,
            headers=((versions.HEADER, versions.OWN),),
        )
    finally:
        edge.close()
        memory.stop()
