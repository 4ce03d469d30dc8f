"""A listener's side of TLS with gunicorn: certificate and key from files that are followed.

New files count for connections made after they changed.  Files that cannot be used (one of the two was
replaced, the other not yet) leave the last good ones in use.  Monitor and portal share no code, so each has
this file.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEND = (
    "Make certificates: ses-service tls init /etc/qstorman/tls  Then add: "
    "--tls-cert /etc/qstorman/tls/HOST.pem --tls-key /etc/qstorman/tls/HOST-key.pem"
)


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
            names = ", ".join(str(one) for one in (self.certificate, self.key, self.ca) if one)
            raise TlsError(f"{names}: not a certificate with its key ({error.reason})") from None
        except OSError as error:
            raise TlsError(f"{error.filename or self.certificate}: {error.strerror}") from None
        return context

    def options(self) -> dict[str, Any]:
        """Return gunicorn's settings.  Raises TlsError when the files cannot be used."""
        return {
            "certfile": str(self.certificate),
            "keyfile": str(self.key),
            "ssl_context": _Followed(self),
        }


class _Followed:
    """Called by gunicorn for each connection.  Any thread."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._stamp = self._now()
        self._newest = files.context()

    def __call__(self, _settings: object, _default: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
        with self._lock:
            stamp = self._now()
            if stamp is not None and stamp != self._stamp:
                with suppress(TlsError):  # tried again with the next connection
                    self._newest, self._stamp = self._files.context(), stamp
            return self._newest

    def _now(self) -> tuple[tuple[int, int, int], ...] | None:
        files = (one for one in (self._files.certificate, self._files.key, self._files.ca) if one is not None)
        try:
            return tuple((at.st_mtime_ns, at.st_size, at.st_ino) for at in (one.stat() for one in files))
        except OSError:
            return None


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
        found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise TlsError(f"cannot listen on {listen}: {error.strerror}") from None
    return all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)
