"""Keeps what is known of members current: reads the directory and the issuer's keys, aside.

While the directory is away, what was last read stays in use and its age is shown.  A failed reading is tried
again after some seconds, later and later, but at least as often as a good one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from ses_service.members import directory
from ses_service.members.issuer import Keys
from ses_service.members.members_file import Directory, MembersFile
from ses_service.members.memberships import Home, Memberships
from ses_service.members.tokens import Tokens
from ses_service.threads.loop import Loop
from ses_service.threads.source_status import Check, SourceStatus

_log = structlog.get_logger("ses_service")

_FIRST_PAUSE = 2.0
_SAVED_EVERY = 5.0
_NAMED = 3


class Members:
    """What a members file says, kept current once it is started.  Safe for threads.

    ``organisations`` gives those the site has, or ``None`` while it is not known.
    """

    def __init__(
        self,
        mapping: MembersFile,
        memberships: Memberships,
        clock: Callable[[], float],
        organisations: Callable[[], frozenset[str] | None],
        read: Callable[[Directory], Sequence[frozenset[str]]] = directory.read_members,
    ) -> None:
        self.mapping = mapping
        self.memberships = memberships
        self._clock = clock
        self._organisations = organisations
        self._read = read
        self._pause = _FIRST_PAUSE
        self._unknown: list[str] = []
        ldap = mapping.ldap
        self.directory = None if ldap is None else SourceStatus(ldap.uri, answered_at=memberships.read_at)
        self._loops = [Loop("members", self.check)]
        self.keys: Keys | None = None
        self.tokens: Tokens | None = None
        if mapping.oidc is not None:
            self.keys = Keys(mapping.oidc, clock)
            self.tokens = Tokens(mapping.oidc, self.keys, clock, memberships.show)
            self._loops.append(Loop("issuer", self.keys.step))
        if ldap is not None:
            self._loops.append(Loop("directory", self.step))

    def start(self) -> None:
        """Begin to follow directory and site."""
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """Stop, and write what was not written yet."""
        for loop in self._loops:
            loop.stop()
        if self.memberships.dirty:
            self.memberships.write()

    def home(self, user: str) -> Home | None:
        """Return where a user belongs, as far as it is known; never waits."""
        return self.memberships.home(user, self._clock())

    def step(self) -> float:
        """Read the directory once; return the seconds to wait."""
        ldap = self.mapping.ldap
        assert ldap is not None
        assert self.directory is not None
        try:
            members = self._read(ldap)
        except directory.DirectoryError as error:
            return self._failed(self.directory, ldap, str(error))
        now = self._clock()
        if not self.directory.reachable:
            _log.info("directory read", uri=ldap.uri, groups=len(members))
        self.memberships.take_groups(members, now)
        self.directory = SourceStatus(ldap.uri, True, now, "")
        self._pause = _FIRST_PAUSE
        return ldap.refresh

    def check(self) -> float:
        """Compare the file with the site, and write what tokens showed; return the seconds to wait."""
        organisations = self._organisations()
        if organisations is not None:
            unknown = self.mapping.unknown(organisations)
            for sentence in unknown if unknown != self._unknown else ():
                _log.warning("rule not used", detail=sentence)
            self._unknown = unknown
            self.memberships.limit_to(organisations)
        if self.memberships.dirty:
            self.memberships.write()
        return _SAVED_EVERY

    def checks(self) -> list[Check]:
        """Return what readiness says of the members file and of the directory."""
        rules = len(self.mapping.rules)
        detail = "; ".join(self._unknown[:_NAMED]) or f"{rules} rules of {self.mapping.path}"
        more = len(self._unknown) - _NAMED
        detail += f"; and {more} more" if more > 0 else ""
        checks = [Check("members-file", not self._unknown, detail)]
        if self.directory is not None:
            detail = self._age() if self.directory.reachable else f"{self.directory.detail}; {self._age()}"
            checks.append(Check("directory", self.directory.reachable, detail))
        if self.keys is not None:
            keys = self.keys.status
            detail = f"keys of {keys.url}" if keys.reachable else keys.detail
            checks.append(Check("issuer", keys.reachable, detail))
        return checks

    def notes(self) -> list[str]:
        """Return what a person reading a decision should know about members."""
        if self.directory is None or self.directory.reachable:
            return []
        return [f"The directory of members is away: {self._age()}."]

    def _age(self) -> str:
        age = self.directory.age(self._clock()) if self.directory else None
        if age is None:
            return "groups were never read"
        return f"{self.memberships.people} people in groups, read {age:.0f} s ago"

    def _failed(self, status: SourceStatus, ldap: Directory, detail: str) -> float:
        if status.detail != detail:
            _log.warning("directory failed", detail=detail)
        self.directory = replace(status, reachable=False, detail=detail)
        pause, self._pause = self._pause, min(2 * self._pause, ldap.refresh)
        return min(pause, ldap.refresh)
