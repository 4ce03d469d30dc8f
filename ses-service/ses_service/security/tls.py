"""The service's side of TLS: certificate and key from files that are followed, and no listening without them.

New files count for connections made after they changed; those that are open go on.  Files that cannot be
used (one of the two was replaced, the other not yet) leave the last good ones in use.
"""

from __future__ import annotations

import ipaddress
import ssl
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

import structlog

Stamp = tuple[tuple[int, int, int], ...]

_log = structlog.get_logger("ses_service")


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

    def stamp(self) -> Stamp:
        """Return what differs when a file was changed.  Raises OSError."""
        found = (one.stat() for one in (self.certificate, self.key, self.ca) if one is not None)
        return tuple((one.st_mtime_ns, one.st_size, one.st_ino) for one in found)


class FollowedTls:
    """A context whose connections are made with the newest good files.  Any thread."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._stamp: Stamp = files.stamp()
        self._newest = files.context()
        self.context = files.context()
        self.context.sni_callback = self._use_newest  # called in every handshake, with a name or without

    def _use_newest(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        with self._lock:
            try:
                stamp = self._files.stamp()
                if stamp != self._stamp:
                    self._stamp = stamp
                    self._newest = self._files.context()
                    _log.info("certificate read", path=str(self._files.certificate))
            except (OSError, TlsError) as error:
                _log.error("certificate refused, the last one stays in use", error=str(error))
            connection.context = self._newest


def files_of(certificate: Path | None, key: Path | None, ca: Path | None) -> TlsFiles | None:
    """Return the files that were named, ``None`` for none.  Raises TlsError when one lacks the others."""
    if certificate is None and key is None and ca is None:
        return None
    if certificate is None or key is None:
        raise TlsError("--tls-cert and --tls-key go together, and --tls-ca with them")
    return TlsFiles(certificate, key, ca)


def check_address(address: str, files: TlsFiles | None) -> None:
    """Raise TlsError when others than this machine could listen in on an address."""
    if files is None and not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        raise TlsError(
            f"it would listen on {address}, where tokens travel in clear text. Make certificates: "
            "ses-service tls init /etc/qstorman/tls  Then add: --tls-cert /etc/qstorman/tls/HOST.pem "
            "--tls-key /etc/qstorman/tls/HOST-key.pem"
        )
