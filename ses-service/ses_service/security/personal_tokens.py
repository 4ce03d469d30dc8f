"""Tokens that people make for themselves: named, with an end, withdrawn by their owner.

A token is shown once.  Kept is its digest, in a file of this service's that only its user may read.  When it
was last used is written at most once an hour.

A token of a user of this machine is not accepted while the machine knows no such user, or another of that
name.  It is looked at once a minute, and the token kept: a name service that is away ends nothing for good.
"""

import hashlib
import json
import pwd
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from ses_service.security.whole_file import write_whole

PREFIX = "ses_"
"""What each token begins with, so that who finds one in a file knows what it is."""

MAX_TOKENS = 20
"""Tokens of one person."""

MAX_DAYS = 3660

_DAY = 86400.0
_USE_KEPT = 3600.0  # seconds
_USES_WRITTEN_EVERY = 60.0


class Scope(StrEnum):
    """``all``: what its owner may do; ``read``: of that, what changes nothing."""

    ALL = "all"
    READ = "read"


class PersonalTokenFileError(Exception):
    """The file of kept tokens is damaged; the message says what to do."""


class PersonalTokenError(Exception):
    """It cannot be made or withdrawn; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class PersonalToken:
    """A token without its secret; times in seconds since the epoch, ``used`` ``None``: never.

    ``uid`` is its owner's, where this machine knew them by it when they made the token.
    """

    user: str
    name: str
    scope: Scope
    made: float
    ends: float
    sha256: str
    used: float | None = None
    uid: int | None = None


class PersonalTokens:
    """The tokens of all people.  Any thread."""

    def __init__(self, path: Path | None, clock: Callable[[], float]) -> None:
        """Read what is kept; without a path in memory only.  Raises OSError, PersonalTokenFileError."""
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()  # of a change of the tokens; a reader takes what is there
        self._tokens = {} if path is None else {token.sha256: token for token in _read(path)}
        self._used: dict[str, float] = {}  # by digest, what is not written yet
        self._without_owner: frozenset[str] = frozenset()  # digests

    def of(self, user: str) -> list[PersonalToken]:
        """Return a person's tokens by name, ended ones too."""
        mine = (token for token in self._tokens.values() if token.user == user)
        return sorted(map(self._with_use, mine), key=lambda token: token.name)

    def make(
        self, user: str, name: str, scope: Scope, days: int, *, is_of_machine: bool = False
    ) -> tuple[str, PersonalToken]:
        """Make a token and return it with what is kept of it.  Raises PersonalTokenError, OSError.

        ``is_of_machine``: this machine's name service says who the user is, and the token ends with them.
        """
        now = self._clock()
        token = PREFIX + secrets.token_urlsafe(32)
        uid = _uid_of(user) if is_of_machine else None
        if is_of_machine and uid is None:
            raise PersonalTokenError(f"This machine knows no user {user} any more")
        kept = PersonalToken(user, name, scope, now, now + days * _DAY, _digest(token), uid=uid)
        with self._lock:
            mine = [token for token in self._tokens.values() if token.user == user]
            if any(token.name == name and token.ends > now for token in mine):
                raise PersonalTokenError(f"You have a token named {name!r}; revoke it or choose another name")
            alive = [token for token in mine if token.ends > now]
            if len(alive) >= MAX_TOKENS:
                raise PersonalTokenError(f"You have {MAX_TOKENS} tokens, which is the most; revoke one first")
            gone = {token.sha256 for token in mine if token.name == name or token.ends <= now}
            self._keep(
                {key: token for key, token in self._tokens.items() if key not in gone} | {kept.sha256: kept}
            )
        return token, kept

    def revoke(self, user: str, name: str) -> bool:
        """Withdraw a person's token of that name; false: there is none.  Raises OSError."""
        with self._lock:
            gone = {key for key, token in self._tokens.items() if (token.user, token.name) == (user, name)}
            if gone:
                self._keep({key: token for key, token in self._tokens.items() if key not in gone})
            return bool(gone)

    def revoke_all(self, user: str) -> int:
        """Withdraw all tokens of a person; return how many there were.  Raises OSError."""
        with self._lock:
            left = {key: token for key, token in self._tokens.items() if token.user != user}
            gone = len(self._tokens) - len(left)
            if gone:
                self._keep(left)
            return gone

    def find(self, token: str) -> PersonalToken | None:
        """Return what is kept of a token that is valid now, and note that it was used; never waits."""
        if not token.startswith(PREFIX):
            return None
        now, digest = self._clock(), _digest(token)
        kept = self._tokens.get(digest)
        if kept is None or kept.ends <= now or digest in self._without_owner:
            return None
        used = self._with_use(kept)
        if used.used is None or now - used.used >= _USE_KEPT:
            self._used[digest] = now
        return used

    def _look_for_owners(self) -> None:
        """Ask this machine's name service, which may take its time, for the owners that it named."""
        named = [token for token in self._tokens.values() if token.uid is not None]
        uids = {user: _uid_of(user) for user in {token.user for token in named}}
        self._without_owner = frozenset(token.sha256 for token in named if uids[token.user] != token.uid)

    def write_uses(self) -> float:
        """Write when tokens were used last, if that is not written, and look for their owners.

        Returns the seconds to wait.  What cannot be written, as on a full disk, is known until the service
        ends.
        """
        self._look_for_owners()
        with self._lock, suppress(OSError):
            if self._used:
                self._keep(self._tokens)
        return _USES_WRITTEN_EVERY

    def _with_use(self, token: PersonalToken) -> PersonalToken:
        used = self._used.get(token.sha256)
        return token if used is None else replace(token, used=used)

    def ended(self, token: str) -> PersonalToken | None:
        """Return what is kept of a token that was valid once; never waits."""
        kept = self._tokens.get(_digest(token))
        return None if kept is None or kept.ends > self._clock() else kept

    def _keep(self, tokens: dict[str, PersonalToken]) -> None:
        written = dict(self._used)
        kept = {key: replace(token, used=written.get(key, token.used)) for key, token in tokens.items()}
        if self._path is not None:
            text = json.dumps({"tokens": [asdict(token) for token in kept.values()]}, indent=1)
            write_whole(self._path, f"{text}\n".encode())
        self._tokens = kept
        for key, used in written.items():
            if self._used.get(key) == used:
                del self._used[key]


def _uid_of(user: str) -> int | None:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> list[PersonalToken]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return []
    try:
        listed = json.loads(text)["tokens"]
        return [PersonalToken(**{**members, "scope": Scope(members["scope"])}) for members in listed]
    except (ValueError, KeyError, TypeError) as error:
        raise PersonalTokenFileError(
            f"{path} is damaged ({error}); move it away, and people make their tokens anew"
        ) from None
