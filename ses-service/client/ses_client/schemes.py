"""Whether an address was named with http where the service speaks https, or the other way round."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit

_LIMIT_SECONDS = 2.0


def other_scheme(url: str) -> str | None:
    """Return the address with the other of http and https if what listens there speaks that one.

    Connects once; nothing secret is sent and nothing that comes back is believed.
    """
    parts = urlsplit(url)
    speaks = {"http": _speaks_tls, "https": _speaks_http}.get(parts.scheme)
    if speaks is None or parts.hostname is None:
        return None
    try:
        port = parts.port or (80 if parts.scheme == "http" else 443)
        with socket.create_connection((parts.hostname, port), timeout=_LIMIT_SECONDS) as line:
            if not speaks(line):
                return None
    except (OSError, ValueError):
        return None
    return parts._replace(scheme="https" if parts.scheme == "http" else "http").geturl()


def _speaks_tls(line: socket.socket) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(line):
        return True


def _speaks_http(line: socket.socket) -> bool:
    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return line.recv(5) == b"HTTP/"
