"""A digest of what a user's requirements resolve from, by which an agent notices that they changed.

The same wherever it is made from the same requirement sets: revisions, authors and times of change do not
count, nor does the order in which the sets were read.  It changes when the time of a requirement begins or
ends.  Requirements a request states itself are no part.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from ses_client.names import SITE_NAME

from ses_service.decision.resolve import SetIndex, next_change
from ses_service.model.entities import Level, RequirementSet

MAX_USERS = 20_000
"""Users of whom something is kept: nodes may ask about any names, and what was kept is made again."""


class RequirementDigests:
    """The digests of one state of the sets; made when asked for, and kept of ``MAX_USERS``."""

    def __init__(self, sets: SetIndex, home_vo: Mapping[str, str]) -> None:
        self._sets = sets
        self._home_vo = home_vo
        self._applications: defaultdict[str, list[RequirementSet]] = defaultdict(list)
        for (level, name), requirement_set in sets.items():
            user, colon, _ = name.partition(":")
            if level is Level.APPLICATION and colon:
                self._applications[user].append(requirement_set)
        self._known: dict[tuple[str, str | None], str] = {}
        self._until = -math.inf

    def of(self, user: str, now: float) -> str:
        """Return 16 hex digits for what applies now: own sets, those of applications, home VO and site."""
        if now >= self._until:
            self._known.clear()
            self._until = next_change(self._sets.values(), now)
        vo = self._home_vo.get(user)
        known = self._known.get((user, vo))
        if known is None:
            if len(self._known) >= MAX_USERS:
                self._known.clear()
            known = self._known[user, vo] = self._digest(user, vo, now)
        return known

    def _digest(self, user: str, vo: str | None, now: float) -> str:
        general = [(Level.USER, user), (Level.SITE, SITE_NAME), *([] if vo is None else [(Level.VO, vo)])]
        sets = [self._sets[key] for key in general if key in self._sets] + self._applications.get(user, [])
        digest = blake2b(repr(vo).encode(), digest_size=8)
        for line in sorted(_lines(sets, now)):
            digest.update(line.encode("utf-8", "surrogatepass") + b"\x00")
        return digest.hexdigest()


def _lines(sets: Iterable[RequirementSet], now: float) -> Iterable[str]:
    for requirement_set in sets:
        own = {stated.kind: stated for stated in requirement_set.requirements if stated.applies(now)}
        of_profile = (
            {stated.kind: stated for stated in requirement_set.profile.requirements}
            if requirement_set.profile
            else {}
        )
        for kind, stated in {**of_profile, **own}.items():
            if stated.applies(now):
                yield repr(
                    (
                        requirement_set.level.value,
                        requirement_set.name,
                        kind.value,
                        float(stated.bound),
                        float(stated.weight),
                        stated.strictness.value,
                    )
                )
