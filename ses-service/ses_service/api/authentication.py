"""Who sends a request, by token, session or UNIX socket, or on this machine; which roles may call a view."""

import ipaddress
import os
import pwd
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from flask import current_app, g, request

from ses_service.api import versions
from ses_service.api.problems import ForbiddenProblem, MungeProblem, UnauthenticatedProblem
from ses_service.members.tokens import TokenError, Tokens
from ses_service.security.munge import MungeError
from ses_service.security.personal_tokens import PersonalToken, PersonalTokens, Scope
from ses_service.security.sessions import Session, SessionError, Sessions
from ses_service.security.tokens import EVERYONE, Principal, Role, TokenFile
from ses_service.security.unix_socket import uid_of

P = ParamSpec("P")
R = TypeVar("R")

AUTHENTICATOR = "qstorman.authenticator"

_HOST = re.compile(
    r"(?:(?P<name>localhost)|(?P<v4>[0-9.]+)|\[(?P<v6>[0-9a-f:.]+)\])(?::[0-9]{1,5})?", re.I | re.A
)
_NAME_KEPT = 60.0  # seconds
_DOTS = 2  # a signed token (JWS, RFC 7515) is three parts


class Authenticator:
    """Turns a request into a principal.

    With ``trust_loopback`` a request without a token acts as admin when it comes from this machine, names
    it by address or as localhost and nothing else (so that no web page can be made to send it), and did
    not pass a proxy. At a UNIX socket the kernel says who calls: root and the service's own user act as
    admin, ``portal_uid`` as the portal, any other as that user. ``signed`` reads tokens of an OIDC issuer:
    a caller with one acts as that user. ``sessions`` takes credentials of MUNGE. ``personal`` are tokens that
    people made for themselves.
    """

    def __init__(
        self,
        tokens: TokenFile | None,
        *,
        trust_loopback: bool,
        portal_uid: int | None = None,
        signed: Tokens | None = None,
        sessions: Sessions | None = None,
        personal: PersonalTokens | None = None,
    ) -> None:
        self._tokens = tokens
        self._sessions = sessions
        self._signed = signed
        self._personal = personal
        self._trust_loopback = trust_loopback
        self._portal_uid = portal_uid

    def principal(self, header: Callable[[str], str | None], host: str, remote: str | None) -> Principal:
        """Return who sent a request with these headers, to ``host``, from the address ``remote``.

        Raises UnauthenticatedProblem, and OtherVersionProblem for one of another major version.
        """
        version = header(versions.HEADER)
        versions.check(version)
        principal = self._principal(header, host, remote)
        return principal if version is None else replace(principal, version=version[:40])

    def _principal(self, header: Callable[[str], str | None], host: str, remote: str | None) -> Principal:
        authorization = header("Authorization")
        acting = _name_in(header("X-Acting-User"))
        if authorization is None:
            uid = uid_of(remote or "")
            if uid is not None and not _proxied(header):
                return _of_this_machine(uid, acting, self._portal_uid)
            if self._trust_loopback and _is_local(header, host, remote):
                return Principal("loopback", Role.ADMIN, acting)
            raise UnauthenticatedProblem("A token is needed: send 'Authorization: Bearer TOKEN'.")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise UnauthenticatedProblem("The Authorization header must be 'Bearer TOKEN'.")
        principal = self._tokens.find(token.strip()) if self._tokens else None
        if principal is None and self._sessions is not None and not _proxied(header):
            principal = self._sessions.find(token.strip(), remote)
        mine = self._personal.find(token.strip()) if principal is None and self._personal else None
        if mine is not None:
            return _of_person(mine)
        if principal is None and self._signed is not None and token.count(".") == _DOTS:
            return _signed_in(self._signed, token.strip())
        if principal is None:
            ended = self._personal.ended(token.strip()) if self._personal else None
            if ended is not None:
                when = datetime.fromtimestamp(ended.ends, UTC)
                raise UnauthenticatedProblem(
                    f"The token {ended.name!r} ended on {when:%Y-%m-%d}; make another in the portal (your "
                    "account, Tokens), and keep it by: ses login"
                )
            raise UnauthenticatedProblem("The token is not known; ask an administrator for one.")
        if principal.role in (Role.PORTAL, Role.ADMIN):
            return Principal(principal.name, principal.role, acting)
        return principal

    def open_session(
        self, credential: str, header: Callable[[str], str | None], remote: str | None
    ) -> Session:
        """Return a session for a MUNGE credential sent from an address.

        Raises UnauthenticatedProblem, OtherVersionProblem, and MungeProblem when munged does not answer.
        """
        versions.check(header(versions.HEADER))
        if self._sessions is None:
            raise UnauthenticatedProblem("No MUNGE credential is taken here; start ses-service with --munge.")
        if remote is None or uid_of(remote) is not None or _proxied(header):
            raise UnauthenticatedProblem("A MUNGE credential is taken at the port, without a proxy between.")
        try:
            return self._sessions.open(credential, remote)
        except SessionError as error:
            raise UnauthenticatedProblem(str(error)) from None
        except MungeError as error:
            raise MungeProblem(f"{error}.", headers={"Retry-After": "1"}) from None


def _of_person(token: PersonalToken) -> Principal:
    reads_only = token.scope is Scope.READ
    return Principal(
        f"token {token.name} of {token.user}", Role.USER, token.user, token=token.name, reads_only=reads_only
    )


def _signed_in(tokens: Tokens, token: str) -> Principal:
    try:
        user = tokens.user(token)
    except TokenError as error:
        raise UnauthenticatedProblem(f"The signed token is not accepted: {error}.") from None
    return Principal(f"signed token of {user}", Role.USER, user)


def _name_in(value: str | None) -> str | None:
    """Return the name in a header, of any script: its bytes are UTF-8, and are given as latin-1 here."""
    try:
        return None if value is None else value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _proxied(header: Callable[[str], str | None]) -> bool:
    return bool(header("X-Forwarded-For") or header("Forwarded"))


def _of_this_machine(uid: int, acting: str | None, portal_uid: int | None) -> Principal:
    """Return who a user is that the kernel names at a UNIX socket.  Raises UnauthenticatedProblem."""
    if uid in (0, os.geteuid()):
        return Principal(f"uid {uid}", Role.ADMIN, acting)
    if uid == portal_uid:
        return Principal(f"uid {uid}", Role.PORTAL, acting)
    try:
        name = _name_of(uid, int(time.monotonic() / _NAME_KEPT))
    except KeyError:
        raise UnauthenticatedProblem(f"This machine knows no user with uid {uid}.") from None
    return Principal(f"uid {uid}", Role.USER, name, is_of_machine=True)


@lru_cache(4096)
def _name_of(uid: int, _period: int) -> str:
    """Return whose uid this is; asked again each period, as uids are given to others."""
    return pwd.getpwuid(uid).pw_name


def _is_local(header: Callable[[str], str | None], host: str, remote: str | None) -> bool:
    if _proxied(header):
        return False
    return _is_loopback(remote or "") and _names_this_machine(host)


@lru_cache(256)
def _names_this_machine(host: str) -> bool:
    """Whether a Host header is localhost or a loopback address, with a port or without, and nothing else."""
    matched = _HOST.fullmatch(host)
    return matched is not None and (
        matched["name"] is not None or _is_loopback(matched["v4"] or matched["v6"])
    )


@lru_cache(256)
def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def allow(*roles: Role, changes: bool | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let only these roles (all, when none is named) call a view; ``caller()`` is then set.

    What ``changes`` something (by default, all but GET) is refused to tokens that may only read.
    """
    accepted = frozenset(roles) or EVERYONE

    def decorator(view: Callable[P, R]) -> Callable[P, R]:
        @wraps(view)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            authenticator: Authenticator = current_app.extensions[AUTHENTICATOR]
            g.caller = principal = authenticator.principal(
                request.headers.get, request.headers.get("Host", ""), request.remote_addr
            )
            if principal.role not in accepted:
                raise ForbiddenProblem(
                    f"Role {principal.role} may not do this; it takes {' or '.join(sorted(accepted))}."
                )
            would_change = request.method != "GET" if changes is None else changes
            if principal.reads_only and would_change:
                raise ForbiddenProblem(
                    f"The token {principal.token!r} is of scope read; this changes something."
                )
            return view(*args, **kwargs)

        return guarded

    return decorator


def caller() -> Principal:
    """Return who sent the current request."""
    principal: Principal = g.caller
    return principal
