"""Ports for servers that cannot be told to find one themselves."""

import socket

_kept: list[socket.socket] = []


def free_port() -> int:
    """A loopback port that the kernel gives to nobody else until the tests have ended.

    Who names it can listen there, since servers set SO_REUSEADDR and the socket that keeps it does not
    listen; until then connections are refused.  Looked up and let go, it would now and then be dealt to
    another server, or to the very connection that asks whether somebody listens.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    _kept.append(kept)
    port: int = kept.getsockname()[1]
    return port
