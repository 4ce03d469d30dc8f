"""Which virtual organisation a user belongs to: as stated, by POSIX groups, a members file or an account.

Groups are asked of this machine (NSS: files, LDAP, SSSD), which may take seconds, so never while a decision
waits: the first question about a user is answered without, the groups are looked up aside, and from then on
they count, also while this machine does not know the user any more: a name service that restarts says so of
everybody. Nodes get it like any change of requirements. What the members file says is known already
(:mod:`ses_service.members`). A home organisation that is stated goes before groups of this machine
(``qsm:memberGroup``), these before the members file, and that before the account of a portal.
"""

import grp
import os
import pwd
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from ses_service.members.memberships import Home
from ses_service.model.entities import Environment

STATED = "site description"

_PAUSE = 0.5
_KEPT = 300.0
_USERS = 100_000


def posix_groups(user: str) -> frozenset[str] | None:
    """Return the names of a user's groups on this machine; ``None`` for a user it does not know."""
    try:
        numbers = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
    except (KeyError, ValueError):
        return None
    names = set()
    for number in numbers:
        try:
            names.add(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return frozenset(names)


class Membership:
    """The groups of the users that were asked for; looked up by ``step``, and again after five minutes."""

    def __init__(
        self,
        groups_of: Callable[[str], frozenset[str] | None] = posix_groups,
        clock: Callable[[], float] = time.monotonic,
        members: Callable[[str], Home | None] | None = None,
    ) -> None:
        self._groups_of = groups_of
        self._clock = clock
        self._members = members
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._missing: set[str] = set()

    def homes(self, environment: Environment) -> Mapping[str, str]:
        """Return the home VO of each user: as stated, else by what is known by then."""
        if not environment.member_groups and self._members is None:
            return environment.home_vo
        return Homes(environment.home_vo, environment.member_groups, self)

    def by_file(self, user: str) -> Home | None:
        """Return what the members file says of a user."""
        return None if self._members is None else self._members(user)

    def groups(self, user: str) -> frozenset[str]:
        """Return the groups of a user as far as they are known; never waits."""
        known = self._known.get(user)
        if known is not None:
            return known[1]
        with self._lock:
            if len(self._missing) < _USERS:
                self._missing.add(user)
        return frozenset()

    def step(self) -> float:
        """Look up whom somebody asked for, and those looked up long ago; return the seconds to wait."""
        now = self._clock()
        with self._lock:
            if len(self._known) > _USERS:
                self._known.clear()
            old = {user for user, (since, _groups) in self._known.items() if now - since > _KEPT}
            wanted, self._missing = self._missing | old, set()
        for user in sorted(wanted):
            groups = self._groups_of(user)
            if groups is None:
                _, groups = self._known.get(user, (now, frozenset()))
            self._known[user] = (now, groups)
        return _PAUSE


def home_of(user: str, homes: Mapping[str, str]) -> Home | None:
    """Return the home VO of a user and what says so, by any mapping of homes."""
    if isinstance(homes, Homes):
        return homes.home(user)
    vo = homes.get(user)
    return None if vo is None else Home(vo, STATED)


class Homes(Mapping[str, str]):
    """Home VOs by user; only those that are stated can be listed."""

    def __init__(
        self, stated: Mapping[str, str], groups: Sequence[tuple[str, str]], membership: Membership
    ) -> None:
        self._stated = stated
        self._groups = groups
        self._membership = membership

    def __getitem__(self, user: str) -> str:
        home = self.home(user)
        if home is None:
            raise KeyError(user)
        return home.vo

    def home(self, user: str) -> Home | None:
        """Return the home VO of a user, and what says so."""
        stated = self._stated.get(user)
        if stated is not None:
            return Home(stated, STATED)
        of_user = self._membership.groups(user) if self._groups else ()
        for group, vo in self._groups:
            if group in of_user:
                return Home(vo, f"POSIX group {group}")
        return self._membership.by_file(user)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stated)

    def __len__(self) -> int:
        return len(self._stated)
