"""The service's HTTP server: one process, because the ledger lives in its memory."""

from __future__ import annotations

import sys
from collections.abc import Callable

from apiflask import APIFlask
from ses_listen.server import Listener, collect_rarely
from ses_listen.server import serve as listen_and_serve

from ses_service.api import versions
from ses_service.http.edge import Edge
from ses_service.security.unix_socket import LocalListener, remote_of

# Seconds a thread that stores or reads much may hold up the one that answers.  Much shorter turns cost more
# than they spare.
_SWITCH = 0.001


def serve(
    app: APIFlask, listener: Listener, *, ready: Callable[[], None], local: LocalListener | None = None
) -> None:
    """Serve until a signal to end comes; ``ready`` is called when connections are accepted.

    At ``local``, too, by plain HTTP that does not leave the machine.  Must be called from the main thread.
    """
    sys.setswitchinterval(_SWITCH)
    edge = Edge(app)
    collect_rarely()
    try:
        listen_and_serve(
            edge,
            listener,
            ready=ready,
            local=None if local is None else local.socket,
            local_client=remote_of,
            headers=((versions.HEADER.lower().encode(), versions.OWN.encode()),),
        )
    finally:
        edge.close()
