"""Connections over which a token may be sent: https, or to a service on this machine that is proven.

Anybody may take a port, or the path of a socket, that a stopped service left.  The kernel says which user
did: for a UNIX socket by SO_PEERCRED, for a TCP port by /proc/net/tcp, where the listening socket has to be
the same before and after the connection was made.  The agent does the same in
peer_proof.cpp.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import NewConnectionError

from ses_client.peer import peer_uid

SOCKET_SCHEME = "unix:"
SERVICE_USER = "qstorman"  # of the packages
MEND = "use unix:/run/qstorman/service.sock or https, or name the service's user by SES_SERVICE_USER"

_LISTENING = "0A"


class UnprovenError(NewConnectionError):
    """Somebody else than the service listens; the message says who, and what to do."""


class ClearTextError(ValueError):
    """A token would travel in clear text; the message says what to do."""


class _Listening(NamedTuple):
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    uid: int
    inode: int


def trusted_users() -> frozenset[int]:
    """Return who may be the service on this machine: root, we, and its own user (SES_SERVICE_USER).

    Raises KeyError when a user that is named does not exist.
    """
    named = os.environ.get("SES_SERVICE_USER")
    if named and named.isdecimal():
        return frozenset({0, os.geteuid(), int(named)})
    try:
        return frozenset({0, os.geteuid(), pwd.getpwnam(named or SERVICE_USER).pw_uid})
    except KeyError:
        if named:
            raise
        return frozenset({0, os.geteuid()})


def base_url(url: str) -> str:
    """Return what paths are appended to: ``url``, or any host where it names a UNIX socket."""
    return "http://localhost" if url.startswith(SOCKET_SCHEME) else url.rstrip("/")


def pool(url: str, *, secret: bool, ca: Path | None = None, **options: Any) -> urllib3.PoolManager:
    """Return connections to ``url``; with ``secret`` a token will be sent.

    ``ca`` is the authority (PEM) of an https service, if not the system's; names are always verified.  Raises
    ClearTextError for a secret over http to another machine.
    """
    parts = urlsplit(url)
    if ca is not None:
        options["ca_certs"] = str(ca)
    connections = urllib3.PoolManager(**options)
    if url.startswith(SOCKET_SCHEME):
        connections.pool_classes_by_scheme = {"http": _pool_class(url[len(SOCKET_SCHEME) :])}
    elif secret and parts.scheme == "http":
        if not _is_loopback(parts.hostname or ""):
            raise ClearTextError(
                f"Your token would travel to {url} in clear text. Use https://, with --service-ca FILE "
                "for an authority of the site's own (ses-service tls init)."
            )
        connections.pool_classes_by_scheme = {"http": _pool_class(None)}
    return connections


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _pool_class(path: str | None) -> type[HTTPConnectionPool]:
    class Connection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            if path is not None:
                return _connect(self, path)
            before = _listening_on(self.port or 80)
            connection = super()._new_conn()
            why = _fault(connection, before, _listening_on(self.port or 80))
            if why:
                connection.close()
                raise UnprovenError(self, why)
            return connection

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    return Pool


def _connect(connection: HTTPConnection, path: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        timeout = connection.timeout
        connected.settimeout(timeout if isinstance(timeout, (int, float)) else None)
        connected.connect(path)
        uid = peer_uid(connected)
        if uid not in trusted_users():
            raise UnprovenError(connection, _stranger(uid))
    except OSError as error:
        connected.close()
        raise NewConnectionError(connection, f"{path}: {error.strerror or error}") from error
    except BaseException:
        connected.close()
        raise
    return connected


def _stranger(uid: int) -> str:
    return f"uid {uid} listens there, neither root, nor you, nor the service's user; {MEND}"


def _fault(made: socket.socket, before: Sequence[_Listening], after: Sequence[_Listening]) -> str:
    """Return why the other end of a connection is not proven, or nothing."""
    peer = ipaddress.ip_address(made.getpeername()[0].partition("%")[0])
    if not peer.is_loopback:
        return f"{peer} is not this machine, where http is not safe; use https"
    then, now = _takers(before, peer), _takers(after, peer)
    strangers = [taker.uid for taker in now if taker.uid not in trusted_users()]
    if strangers:
        return _stranger(strangers[0])
    if not now or set(now) != set(then):
        return f"the kernel does not say who listens there; {MEND}"
    return ""


def _takers(
    listening: Sequence[_Listening], peer: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> list[_Listening]:
    """Return the sockets one of which took the connection: those of the address the kernel prefers."""
    addresses: list[Any] = [peer]
    if isinstance(peer, ipaddress.IPv4Address):
        addresses += [ipaddress.ip_address(f"::ffff:{peer}"), ipaddress.ip_address("0.0.0.0")]
    addresses.append(ipaddress.ip_address("::"))
    for address in addresses:
        sockets = [candidate for candidate in listening if candidate.address == address]
        if sockets:
            return sockets
    return []


def _listening_on(port: int) -> list[_Listening]:
    sockets = []
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, _, state, _, _, _, uid, _, inode, *_ = line.split()
            address, _, at = local.partition(":")
            if state == _LISTENING and int(at, 16) == port:
                words = bytes.fromhex(address)  # each four bytes in the machine's order
                order = [words[i : i + 4] for i in range(0, len(words), 4)]
                raw = b"".join(struct.pack("=I", int.from_bytes(word, "big")) for word in order)
                sockets.append(_Listening(ipaddress.ip_address(raw), int(uid), int(inode)))
    return sockets
