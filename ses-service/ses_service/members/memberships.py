"""What is known of members: groups as last read, and claims as last shown; kept in a file over a restart.

Answers from memory, and never waits.  Does not judge which source is right where several know a user: groups
go before claims, and of each the rule that the members file states first.
"""

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from ses_service.members.members_file import MembersFile
from ses_service.security.whole_file import write_whole

_log = structlog.get_logger("ses_service")

_SHOWN = 200_000


@dataclass(frozen=True, slots=True)
class Home:
    """The organisation of a user, and what says so."""

    vo: str
    source: str


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a token showed: the rule it fits, by its place in the file, and until when that counts."""

    place: int
    until: float


class Memberships:
    """All methods may be called from any thread.  Times are seconds since the epoch."""

    def __init__(self, mapping: MembersFile, path: Path | None = None) -> None:
        self._mapping = mapping
        self._path = path
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._groups: tuple[tuple[int, frozenset[str]], ...] = ()
        self._by_user: dict[str, int] = {}
        self._shown: dict[str, _Shown] = {}
        self._organisations: frozenset[str] | None = None
        self.read_at: float | None = None
        self.dirty = False
        self._recall()

    @property
    def people(self) -> int:
        """How many users the groups have."""
        return len(self._by_user)

    def home(self, user: str, now: float) -> Home | None:
        """Return where a user belongs, as far as it is known."""
        place = self._by_user.get(user)
        if place is not None and self._mapping.ldap is not None:
            rule = self._mapping.ldap.groups[place]
            return Home(rule.vo, f"LDAP group {rule.name}")
        shown = self._shown.get(user)
        if shown is None or shown.until <= now or self._mapping.oidc is None:
            return None
        claim = self._mapping.oidc.rules[shown.place]
        if self._organisations is not None and claim.vo not in self._organisations:
            return None
        return Home(claim.vo, f"claim {claim.claim} of a token")

    def limit_to(self, organisations: frozenset[str]) -> None:
        """Go by rules for these organisations only: those the site has."""
        with self._lock:
            if organisations != self._organisations:
                self._organisations = organisations
                self._index()

    def take_groups(self, members: Sequence[frozenset[str]], now: float) -> None:
        """Take what was read of all groups, in the order of their rules."""
        with self._lock:
            self._groups = tuple(enumerate(members))
            self.read_at = now
            self._index()
        self.write()

    def show(self, user: str, place: int | None, until: float, now: float) -> None:
        """Take what a token says of its user: the first rule it fits; ``None``: none, from now on."""
        with self._lock:
            if place is None:
                changed = self._shown.pop(user, None) is not None
            else:
                before = self._shown.get(user)
                changed = before is None or before.place != place or until - before.until > 60
                if changed:
                    self._shown[user] = _Shown(place, until)
            if len(self._shown) > _SHOWN:
                self._shown = {user: shown for user, shown in self._shown.items() if shown.until > now}
            self.dirty = self.dirty or changed

    def write(self) -> None:
        """Write the file.  One that cannot be written is logged and no more."""
        self.dirty = False
        if self._path is None:
            return
        with self._writing:  # what is written last is what was known last
            with self._lock:
                held = {
                    "mapping": self._mapping.digest,
                    "read_at": self.read_at,
                    "groups": [sorted(users) for _place, users in self._groups],
                    "shown": {user: [shown.place, shown.until] for user, shown in self._shown.items()},
                }
            try:
                write_whole(self._path, json.dumps(held).encode())
            except OSError as error:
                _log.warning("what is known of members cannot be written", detail=str(error))

    def _recall(self) -> None:
        """Take what an earlier start knew, if it was by the same members file."""
        if self._path is None:
            return
        try:
            held = json.loads(self._path.read_text("utf-8"))
            if held["mapping"] != self._mapping.digest:
                return
            groups = [frozenset(map(str, users)) for users in held["groups"]]
            shown = {str(user): _Shown(int(pair[0]), float(pair[1])) for user, pair in held["shown"].items()}
            read_at = None if held["read_at"] is None else float(held["read_at"])
            rules = self._mapping.oidc.rules if self._mapping.oidc else ()
            if any(not 0 <= entry.place < len(rules) for entry in shown.values()):
                raise ValueError("it names a rule that does not exist")
            if groups and len(groups) != len(self._mapping.ldap.groups if self._mapping.ldap else ()):
                raise ValueError("it has other groups")
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            _log.warning("what was known of members cannot be used", path=str(self._path), detail=str(error))
            return
        self._groups, self._shown, self.read_at = tuple(enumerate(groups)), shown, read_at
        self._index()

    def _index(self) -> None:
        places: dict[str, int] = {}
        for place, users in self._known_groups():
            for user in users:
                places.setdefault(user, place)
        self._by_user = places

    def _known_groups(self) -> Iterable[tuple[int, frozenset[str]]]:
        if self._mapping.ldap is None:
            return ()
        rules, known = self._mapping.ldap.groups, self._organisations
        return [group for group in self._groups if known is None or rules[group[0]].vo in known]
