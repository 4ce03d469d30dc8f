"""Sessions: a MUNGE credential is exchanged for a token that is valid for some minutes.

A credential carries ``qstorman-session 1 node HOST`` (an agent, which runs as root) or
``qstorman-session 1 user HOST``.  munged writes the address of its host into it.  It is believed when the
name HOST stands for that address and for the address it was sent from: one that was taken from another node
is of no use, and a user of a node cannot name another.

The token is not kept: it says whose it is, from where and since when, and carries an HMAC (RFC 2104) by the
key of this service, which outlives a restart.
"""

import hashlib
import hmac
import json
import pwd
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ses_service.security.munge import CredentialError, Munge, addresses_of, is_own
from ses_service.security.tokens import Principal, Role
from ses_service.security.whole_file import write_whole

LIFETIME = 600
"""Seconds a session lasts."""

_PAYLOAD = re.compile(rb"qstorman-session 1 (node|user) ([A-Za-z0-9_.:-]{1,255})")
_PREFIX = "munge."
_KEY_BYTES = 32
_THIS_MACHINE = ("127.0.0.1", "::1")
_AHEAD = 5.0  # seconds a token may be of the future: the clock was set back a little


class SessionError(Exception):
    """There is no session for this credential; the message says why."""


@dataclass(frozen=True, slots=True)
class Session:
    """A token, and whose it is."""

    token: str
    principal: Principal


class Sessions:
    """Makes tokens for credentials, and recognises them.  Any thread; ``open`` may wait for munged."""

    def __init__(self, munge: Munge, key: bytes, clock: Callable[[], float]) -> None:
        self._munge = munge
        self._key = key
        self._clock = clock

    def open(self, credential: str, remote: str) -> Session:
        """Return a session for who made a credential and sent it from an address.

        Raises SessionError, and MungeError when munged does not answer.
        """
        try:
            decoded = self._munge.decode(credential)
        except CredentialError as error:
            raise SessionError(f"The MUNGE credential is not believed: {error}.") from None
        payload = _PAYLOAD.fullmatch(decoded.payload)
        if payload is None:
            raise SessionError("The MUNGE credential was made for something else than a session here.")
        role, host = payload[1].decode(), payload[2].decode()
        _check_host(host, str(decoded.address), remote)
        if role == Role.NODE and decoded.uid != 0:
            raise SessionError(
                f"Only root may speak for node {host}, not uid {decoded.uid}; run the agent as root."
            )
        name = host if role == Role.NODE else _user(decoded.uid)
        claims = json.dumps([role, name, remote, int(self._clock())]).encode()
        return Session(self._signed(claims), _principal(role, name))

    def find(self, token: str, remote: str | None) -> Principal | None:
        """Return whose token this is, if it is ours, still valid, and comes from where it was given."""
        if not token.startswith(_PREFIX):
            return None
        try:
            payload = urlsafe_b64decode(token.removeprefix(_PREFIX).partition(".")[0])
        except ValueError:
            return None
        if not hmac.compare_digest(self._signed(payload).encode(), token.encode("utf-8", "replace")):
            return None
        role, name, given_to, since = json.loads(payload)
        if given_to != remote or not -_AHEAD <= self._clock() - since <= LIFETIME:
            return None
        return _principal(role, name)

    def _signed(self, payload: bytes) -> str:
        mac = hmac.digest(self._key, payload, hashlib.sha256)
        return _PREFIX + ".".join(urlsafe_b64encode(part).decode() for part in (payload, mac))


def session_key(path: Path) -> bytes:
    """Return the key in a file, which is made (mode 0600) where there is none that fits.  Raises OSError."""
    try:
        if path.stat().st_mode & 0o077 == 0 and len(key := path.read_bytes()) == _KEY_BYTES:
            return key
    except FileNotFoundError:
        pass
    fresh = secrets.token_bytes(_KEY_BYTES)
    write_whole(path, fresh)
    return fresh


def _check_host(host: str, made_at: str, sent_from: str) -> None:
    """Raise SessionError unless the host's name stands for both addresses."""
    known = addresses_of(host)
    if made_at not in known:
        stands = f"stands for {', '.join(sorted(known))}" if known else "is not known"
        raise SessionError(
            f"The MUNGE credential names host {host} and was made at {made_at}, but that name {stands} on "
            "the service's machine. Compare both machines' /etc/hosts, munged's --origin, and the agent's "
            "--node."
        )
    from_here = sent_from in _THIS_MACHINE and any(map(is_own, known))
    if sent_from not in known and not from_here:
        raise SessionError(
            f"The MUNGE credential of {host} was sent from {sent_from}, which on the service's machine is no "
            f"address of that name ({', '.join(sorted(known))}). Add it there, as in /etc/hosts."
        )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        raise SessionError(f"The service's machine knows no user with uid {uid}.") from None


def _principal(role: str, name: str) -> Principal:
    if role == Role.NODE:
        return Principal(f"MUNGE of {name}", Role.NODE, node=name)
    return Principal(f"MUNGE of {name}", Role.USER, user=name, is_of_machine=True)
