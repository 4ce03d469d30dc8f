"""A digest of what a user's requirements resolve from, by which an agent notices that they changed.

The same wherever and whenever it is made from the same requirement sets: revisions, authors and times do not
count, nor does the order in which the sets were read.  Requirements a request states itself are no part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from ses_service.model import Level, RequirementSet
from ses_service.resolve import SITE_NAME, SetIndex


class Generations:
    """The digests of one state of the sets; made when asked for, and kept."""

    def __init__(self, sets: SetIndex, home_vo: Mapping[str, str]) -> None:
        self._sets = sets
        self._home_vo = home_vo
        self._applications: defaultdict[str, list[RequirementSet]] = defaultdict(list)
        for (level, name), one in sets.items():
            user, colon, _ = name.partition(":")
            if level is Level.APPLICATION and colon:
                self._applications[user].append(one)
        self._known: dict[str, str] = {}

    def of(self, user: str) -> str:
        """Return 16 hex digits for the user's own sets, those of their applications, home VO and site."""
        known = self._known.get(user)
        if known is None:
            known = self._known[user] = self._digest(user)
        return known

    def _digest(self, user: str) -> str:
        vo = self._home_vo.get(user)
        general = [(Level.USER, user), (Level.SITE, SITE_NAME), *([] if vo is None else [(Level.VO, vo)])]
        found = [self._sets[one] for one in general if one in self._sets] + self._applications.get(user, [])
        digest = blake2b(repr(vo).encode(), digest_size=8)
        for line in sorted(_lines(found)):
            digest.update(line.encode("utf-8", "surrogatepass") + b"\x00")
        return digest.hexdigest()


def _lines(sets: Iterable[RequirementSet]) -> Iterable[str]:
    for one in sets:
        for stated in one.requirements:
            yield repr(
                (
                    one.level.value,
                    one.name,
                    stated.kind.value,
                    float(stated.minimum),
                    float(stated.weight),
                    stated.strictness.value,
                )
            )
