"""A certificate authority of the site's own, and the certificates it signs for listeners and clients."""

import contextlib
import datetime
import ipaddress
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ses_service.security.whole_file import write_whole

_AUTHORITY_DAYS = 3650
_CLOCKS = datetime.timedelta(hours=1)  # by which those of two machines may differ


def make_certificates(
    directory: Path, hosts: Sequence[str], days: int, uid: int, gid: int = -1
) -> list[tuple[Path, list[str]]]:
    """Write a certificate and its key for each host, ``HOST[,NAME|ADDRESS]...``; without: for this machine.

    Returns the file and the names of each.  The authority is made when the directory has none.  Keys belong
    to ``uid``; -1: to the caller.  With ``gid`` its members read them, too.  Raises OSError and ValueError.
    """
    before = os.umask(0o022)  # who serves passes it
    try:
        directory.mkdir(parents=True, exist_ok=True)
    finally:
        os.umask(before)
    ca, ca_key = _authority(directory)
    written = []
    for names in [host.split(",") for host in hosts] or [_this_machine()]:
        path, key, certificate = _certificate(directory, names, days, ca, ca_key)
        write_whole(key_of(path), _pem(key), 0o600 if gid == -1 else 0o640, (uid, gid))
        write_whole(path, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
        written.append((path, names))
    return written


def end_of(certificate: Path) -> datetime.datetime:
    """Return when the first of the certificates in a file ends.  Raises OSError and ValueError."""
    return min(
        entry.not_valid_after_utc for entry in x509.load_pem_x509_certificates(certificate.read_bytes())
    )


def key_of(certificate: Path) -> Path:
    """Return the file of a certificate's key."""
    return certificate.with_name(f"{certificate.stem}-key.pem")


def _this_machine() -> list[str]:
    names = [socket.gethostname(), socket.getfqdn(), "localhost", "127.0.0.1", "::1"]
    with contextlib.suppress(OSError):
        addresses = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
        names += [str(address[4][0]).partition("%")[0] for address in addresses]
    return list(dict.fromkeys(names))


def _authority(directory: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    path, key_path = directory / "ca.pem", directory / "ca-key.pem"
    if path.exists() and key_path.exists():
        key = serialization.load_pem_private_key(key_path.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{key_path.name} is no key that was made here")
        return x509.load_pem_x509_certificate(path.read_bytes()), key
    if path.exists() or key_path.exists():
        raise ValueError("of ca.pem and ca-key.pem one is missing; bring it back, or move the other away")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"QStorMan of {socket.gethostname()}"[:64])])
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    builder = (
        _builder(name, name, key, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256())
    write_whole(key_path, _pem(key))
    write_whole(path, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return certificate, key


def _certificate(
    directory: Path, names: list[str], days: int, ca: x509.Certificate, ca_key: ec.EllipticCurvePrivateKey
) -> tuple[Path, ec.EllipticCurvePrivateKey, x509.Certificate]:
    host = names[0]
    if not all(names) or "/" in host or host.startswith(".") or host in ("ca", "ca-key"):
        raise ValueError(f"{','.join(names)!r} names no host")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    days = min(days, (ca.not_valid_after_utc - datetime.datetime.now(datetime.UTC)).days)
    if days < 1:
        raise ValueError("the authority in ca.pem ends: move ca.pem and ca-key.pem away, and call this again")
    builder = (
        _builder(subject, ca.subject, key, days)
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=False)
        .add_extension(issuer, critical=False)
    )
    return directory / f"{host}.pem", key, builder.sign(ca_key, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
