"""Tokens in a file: whose each is, and the role it gives.

The file is TOML with one ``[[token]]`` table each: ``name``, ``role``, ``sha256`` (hex digest of the
token), for role ``user`` ``user``, and for role ``node`` ``node``: the name of the node, or a pattern of
names as in a shell (``gpu*``).  A node may have several tokens, so that one can follow another.

The file holds no token, only digests, and must not be readable by group or others.  It is read again when
it changes, so that a token can be added or withdrawn without a restart; a file that has become unreadable
or wrong lets nobody in until it is mended.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import threading
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ses_client.errors import SesError
from ses_client.text_files import decoded, read_text, toml_of

from ses_service.security.whole_file import write_whole

if TYPE_CHECKING:
    import structlog


class Role(StrEnum):
    """``node``: an agent; ``portal``: acts for people; ``user``: one person; ``admin``: everything."""

    NODE = "node"
    PORTAL = "portal"
    USER = "user"
    ADMIN = "admin"


_PAUSES = 9.0  # times as long as it took to find a fault in the file: all who ask wait meanwhile
EVERYONE = frozenset(Role)
PEOPLE = frozenset({Role.USER, Role.PORTAL, Role.ADMIN})


class OtherNodeError(Exception):
    """The agent of one node speaks for another."""


class TokenFileError(Exception):
    """The token file cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller.  ``user`` is the person behind it: the token's, or the one a portal acts for.

    ``node`` is the name, or pattern of names, of the nodes an agent speaks for.  ``token`` is the name of the
    personal token that was shown, ``reads_only`` whether that one may change nothing.  ``is_of_machine``:
    this machine's name service says who the user is.  ``version`` is what it says of itself.
    """

    name: str
    role: Role
    user: str | None = None
    node: str | None = None
    token: str | None = None
    reads_only: bool = False
    is_of_machine: bool = False
    version: str | None = None

    @property
    def author(self) -> str:
        """Whose changes the caller's are."""
        return self.user or self.name

    @property
    def is_node(self) -> bool:
        """Whether the caller is an agent."""
        return self.role is Role.NODE

    def speaks_for(self, node: str | None) -> bool:
        """Whether what concerns a node is the caller's business; any node is, except an agent's others."""
        if self.role is not Role.NODE or node == self.node:
            return self.role is not Role.NODE or node is not None
        return self.node is not None and node is not None and fnmatchcase(node, self.node)

    def must_speak_for(self, node: str) -> None:
        """Raise OtherNodeError when the caller is the agent of another node."""
        if self.speaks_for(node):
            return
        if self.node is None:
            raise OtherNodeError(
                f"The token {self.name!r} is bound to no node, so it speaks for none; make one for this "
                f"node: ses-service token new --role node --node {node}"
            )
        raise OtherNodeError(
            f"The token {self.name!r} speaks for node {self.node}, not for {node}; compare it with the "
            "agent's --node"
        )


@dataclass(frozen=True, slots=True)
class _Token:
    sha256: str
    principal: Principal


class TokenFile:
    """The tokens of one file.  ``find`` may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp = _stamp(path)
        self._tokens = _by_digest(_read(path))
        self._look_at = 0.0  # of the monotonic clock, after a fault

    def find(self, token: str) -> Principal | None:
        """Return whose token this is, or ``None``.

        The time this takes depends on the token's digest only, of which a caller learns nothing.
        """
        self._refresh()
        return self._tokens.get(hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest())

    def _refresh(self) -> None:
        if (began := time.monotonic()) < self._look_at:
            return
        try:
            stamp = _stamp(self.path)
            if stamp == self._stamp:
                return
            with self._lock:
                self._tokens, self._stamp = _by_digest(_read(self.path)), stamp
            _log().info("token file read", path=str(self.path), tokens=len(self._tokens))
        except TokenFileError as error:
            if self._tokens:
                _log().error("token file refused", error=str(error))
            self._tokens, self._stamp = {}, None
            self._look_at = time.monotonic() + _PAUSES * (time.monotonic() - began)


def _log() -> structlog.typing.FilteringBoundLogger:
    import structlog  # takes long, and who makes tokens logs nothing

    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger("ses_service")
    return logger


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError as error:
        raise TokenFileError(f"{path}: {error.strerror}; make it with: ses-service token new") from None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> tuple[_Token, ...]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise TokenFileError(f"{path} is readable by others than its owner; run: chmod 600 {path}")
            data = toml_of(decoded(file.read(), str(path)), path)
    except OSError as error:
        raise TokenFileError(f"{path}: {error.strerror}; make it with: ses-service token new") from None
    except SesError as error:
        raise TokenFileError(str(error)) from None
    tables = data.get("token", [])
    if not isinstance(tables, list):
        raise TokenFileError(f"{path}: write each token as a [[token]] table")
    return tuple(_token(path, place, table) for place, table in enumerate(tables, 1))


def _by_digest(tokens: tuple[_Token, ...]) -> dict[str, Principal]:
    return {token.sha256: token.principal for token in tokens}


def _token(path: Path, place: int, table: object) -> _Token:
    if not isinstance(table, dict):
        raise TokenFileError(f"{path}: token {place} is not a table")
    name, role, digest, user, node = (table.get(key) for key in ("name", "role", "sha256", "user", "node"))
    if not isinstance(name, str) or not name:
        raise TokenFileError(f"{path}: token {place} has no name")
    if role not in tuple(Role):
        raise TokenFileError(f"{path}: token {name!r} has no known role ({', '.join(Role)})")
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise TokenFileError(f"{path}: token {name!r}: sha256 must be 64 lower-case hex digits")
    if (role == Role.USER) != isinstance(user, str):
        raise TokenFileError(f"{path}: token {name!r}: a user is named with role user, and only there")
    if node is not None and (role != Role.NODE or not isinstance(node, str) or not node):
        raise TokenFileError(f"{path}: token {name!r}: a node is named with role node, and only there")
    return _Token(digest, Principal(name, Role(role), user, node))


def tokens_of(path: Path) -> tuple[Principal, ...]:
    """Return whose tokens a file holds.  Raises TokenFileError."""
    return tuple(token.principal for token in _read(path))


def add_token(path: Path, role: Role, name: str, user: str | None = None, node: str | None = None) -> str:
    """Make a token, add its digest to the file (made with mode 0600), and return the token.

    Raises TokenFileError when the file cannot be used or has a token of that name.
    """
    (token,) = add_tokens(path, [Principal(name, role, user, node)])
    return token


def add_tokens(path: Path, whose: Iterable[Principal]) -> list[str]:
    """Make a token for each, and add all or none: a file of many takes long to read.  As ``add_token``."""
    taken = {known.name for known in tokens_of(path)} if path.exists() else set()
    tokens, tables = [], []
    for principal in whose:
        if principal.name in taken:
            raise TokenFileError(f"{path} has a token named {principal.name!r} already; give another --name")
        taken.add(principal.name)
        tokens.append(secrets.token_urlsafe(32))
        fields = (
            ("name", principal.name),
            ("role", principal.role.value),
            ("user", principal.user),
            ("node", principal.node),
        )
        lines = [f"{key} = {_toml_text(value)}" for key, value in fields if value]
        lines.append(f'sha256 = "{hashlib.sha256(tokens[-1].encode()).hexdigest()}"')
        tables.append("[[token]]\n" + "\n".join(lines) + "\n\n")
    added = "".join(tables)
    try:
        tomllib.loads(f"{read_text(path)}\n{added}" if path.exists() else added)
    except tomllib.TOMLDecodeError:
        raise TokenFileError(
            f"{path}: write each token as a [[token]] table; then one can be added"
        ) from None
    try:
        _append(path, added)
    except OSError as error:
        raise TokenFileError(f"{path}: {error.strerror}") from None
    return tokens


def _append(path: Path, table: str) -> None:
    """Add tables whole or not at all: half of one would let nobody in.  Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_line = size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"
        text = (table if is_line else f"\n{table}").encode()
        try:
            while text:
                text = text[os.write(descriptor, text) :]
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def revoke_token(path: Path, name: str) -> None:
    """Take the token of that name out of the file, which stays as it is otherwise.

    Raises TokenFileError when there is none, or it cannot be taken out without another one.
    """
    known, text = tokens_of(path), read_text(path)
    if all(token.name != name for token in known):
        raise TokenFileError(f"{path} has no token named {name!r}; see: ses-service token list")
    parts = re.split(r"(?m)^(?=\s*\[\[\s*token\s*\]\])", text)
    try:
        kept = "".join(part for part in parts if name not in _names_in(part))
        is_alone = _names_in(kept) == [token.name for token in known if token.name != name]
    except tomllib.TOMLDecodeError:
        is_alone = False
    if not is_alone:
        raise TokenFileError(f"{path}: {name!r} is not a [[token]] table of its own; take it out by hand")
    try:
        status = path.stat()
        owner = status.st_uid, status.st_gid
        write_whole(path, kept.encode(), stat.S_IMODE(status.st_mode), owner)
    except OSError as error:
        raise TokenFileError(f"{path}: {error.strerror}") from None


def _names_in(text: str) -> list[str]:
    return [str(table["name"]) for table in tomllib.loads(text).get("token", [])]


def _toml_text(value: str) -> str:
    if any(ord(character) < 32 or character in '"\\\x7f' for character in value):
        raise TokenFileError("names may not contain quotes, backslashes or control characters")
    return f'"{value}"'
