"""Certificate and key from files that are followed, and no listening beyond this machine without them.

New files count for connections made after they changed; those that are open go on.  Files that cannot be
used (one of the two was replaced, the other not yet) leave the last good ones in use.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

import structlog

MEND = (
    "Make certificates: ses-service tls init /etc/qstorman/tls  Then add: "
    "--tls-cert /etc/qstorman/tls/HOST.pem --tls-key /etc/qstorman/tls/HOST-key.pem"
)

Stamp = tuple[tuple[int, int, int], ...]

_log = structlog.get_logger("ses_listen")


class TlsError(Exception):
    """A certificate, key or address cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificate and key, both PEM; with ``ca`` clients must show a certificate that it signed."""

    certificate: Path
    key: Path
    ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Return what connections are made with.  Raises TlsError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            if self.key.stat().st_mode & stat.S_IRWXO:
                raise TlsError(f"the key {self.key} is open to everybody; run: chmod 600 {self.key}")
            context.load_cert_chain(self.certificate, self.key)
            if self.ca is not None:
                context.load_verify_locations(self.ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except ssl.SSLError as error:
            names = ", ".join(str(file) for file in (self.certificate, self.key, self.ca) if file)
            raise TlsError(f"{names}: not a certificate with its key ({error.reason})") from None
        except OSError as error:
            raise TlsError(f"{error.filename or self.certificate}: {error.strerror}") from None
        return context

    def stamp(self) -> Stamp:
        """Return what differs when a file was changed.  Raises OSError."""
        statuses = (file.stat() for file in (self.certificate, self.key, self.ca) if file is not None)
        return tuple((status.st_mtime_ns, status.st_size, status.st_ino) for status in statuses)


class FollowedTls:
    """A context whose connections are made with the newest good files.  Any thread."""

    def __init__(self, files: TlsFiles) -> None:
        """Read the files.  Raises TlsError."""
        self._files = files
        self._lock = threading.Lock()
        self.context = files.context()
        self._stamp = files.stamp()
        self._newest = files.context()
        self._refused = ""
        self.context.sni_callback = self._use_newest  # called in every handshake, with a name or without

    def _use_newest(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        with self._lock:
            try:
                stamp = self._files.stamp()
                # After a fault each time: what mends it may bear the same stamp, whose clock is coarse.
                if stamp != self._stamp or self._refused:
                    self._stamp = stamp
                    self._newest = self._files.context()
                    self._refused = ""
                    _log.info("certificate read", path=str(self._files.certificate))
            except (OSError, TlsError) as error:
                if str(error) != self._refused:
                    _log.error("certificate refused, the last one stays in use", error=str(error))
                self._refused = str(error)
            connection.context = self._newest


def files_of(certificate: Path | None, key: Path | None, ca: Path | None) -> TlsFiles | None:
    """Return the files that were named, ``None`` for none.  Raises TlsError when one lacks the others."""
    if certificate is None and key is None and ca is None:
        return None
    if certificate is None or key is None:
        raise TlsError("--tls-cert and --tls-key go together, and --tls-ca with them")
    return TlsFiles(certificate, key, ca)


def is_local(listen: str) -> bool:
    """Whether ``HOST:PORT`` can be reached from this machine only.  Raises TlsError for no address."""
    host = listen.rpartition(":")[0].strip("[]")
    try:
        addresses = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise TlsError(f"cannot listen on {listen}: {error.strerror}") from None
    return all(
        ipaddress.ip_address(str(address[4][0]).partition("%")[0]).is_loopback for address in addresses
    )
