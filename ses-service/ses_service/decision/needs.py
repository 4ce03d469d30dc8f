"""What the files of each user need, as agents get it: for all of the user, and for applications by name.

A need is the requirements that apply, and the room that a file of unknown size should find: a high quantile
of the sizes that files like it had.  Its generation is a digest of all that, the same wherever it is made; an
agent that has it gets nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import orjson
import ses_core
from ses_core import Records

from ses_service.decision.question import HISTORY
from ses_service.decision.resolve import SetIndex, next_change, resolve
from ses_service.decision.rows import STATED
from ses_service.model.entities import (
    Kind,
    Level,
    Requirement,
    ResolvedRequirement,
    Strictness,
    Subject,
    with_home_vo,
)
from ses_service.model.limits import MAX_APPLICATIONS

MAX_USERS = 20_000
"""Users of whom something is kept: nodes may ask about any names, and what was kept is made again."""

_HOLDS = 0.25  # seconds for which what was read of the sizes of a user's files holds
_STEPS = 4.0  # of a doubling, to which room is rounded up: a generation does not change with each file
_CODES: dict[Kind, int] = {
    Kind.CURRENT_READ_RATE: int(ses_core.Kind.CURRENT_READ),
    Kind.AVERAGE_READ_RATE: int(ses_core.Kind.AVERAGE_READ),
    Kind.CURRENT_WRITE_RATE: int(ses_core.Kind.CURRENT_WRITE),
    Kind.AVERAGE_WRITE_RATE: int(ses_core.Kind.AVERAGE_WRITE),
    Kind.FREE_CAPACITY: int(ses_core.Kind.FREE),
}

Rooms = Callable[[str], Mapping[str, float]]
"""The room files of a user should find, by application, ``""`` for those that name none."""


@dataclass(frozen=True, slots=True)
class UserNeeds:
    """What the files of one user need: as agents get it, and as the core takes it."""

    generation: str
    body: bytes
    needs: tuple[Records, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """The needs of a user, what they were made of, and when that was looked at last."""

    at: float
    made_of: tuple[str | None, Mapping[str, float]]
    needs: UserNeeds


def code_of(kind: Kind, stated: tuple[str, ...]) -> int:
    """Return the number the core knows a kind by; one of which nothing is known where it is not stated."""
    predicted = _CODES.get(kind)
    if predicted is not None:
        return predicted
    return int(ses_core.Kind.STATED_FIRST) + (stated.index(kind) if kind in stated else STATED)


def need_of(
    requirements: Sequence[Requirement],
    stated: tuple[str, ...],
    *,
    size: float | None = None,
    room: float | None = None,
    stripes: int | None = None,
) -> Records:
    """Return what one file needs as the core takes it."""
    return ses_core.need(
        *[
            (
                code_of(requirement.kind, stated),
                requirement.strictness is Strictness.HARD,
                requirement.kind.at_most,
                requirement.bound,
                requirement.weight,
            )
            for requirement in requirements
        ],
        size=-1.0 if size is None else size,
        room=-1.0 if room is None else room,
        stripes=stripes or 0,
    )


class Needs:
    """The needs of all users, for one state of requirements and site.

    They are made when asked for, and kept of ``MAX_USERS``.  ``rooms`` is asked for sizes about four
    times a second for each user.
    """

    def __init__(
        self, sets: SetIndex, home_vo: Mapping[str, str], stated: tuple[str, ...], rooms: Rooms
    ) -> None:
        self._sets = sets
        self._home_vo = home_vo
        self._stated = stated
        self._rooms = rooms
        self._applications: dict[str, list[str]] = {}
        for (level, name), requirement_set in sets.items():
            user, colon, application = name.partition(":")
            if level is Level.APPLICATION and colon and requirement_set.says_anything:
                self._applications.setdefault(user, []).append(application)
        self._known: dict[str, _Known] = {}
        self._until = -math.inf  # when the time of a requirement begins or ends

    def of_site(self, now: float) -> Records:
        """Return what a file needs for which nobody but the site states anything."""
        return self.of("", now).needs[0]

    def of(self, user: str, now: float) -> UserNeeds:
        """Return the needs of a user's files."""
        if now >= self._until:
            self._known.clear()
            self._until = next_change(self._sets.values(), now)
        vo, known = self._home_vo.get(user), self._known.get(user)
        if known is not None and known.made_of[0] == vo and known.at <= now < known.at + _HOLDS:
            return known.needs
        made_of = vo, {name: rounded_up(room) for name, room in self._rooms(user).items()}
        if known is not None and known.made_of == made_of:
            needs = known.needs
        else:
            needs = self._made(user, made_of[1], now)
        if known is None and len(self._known) >= MAX_USERS:
            self._known.clear()
        self._known[user] = _Known(now, made_of, needs)
        return needs

    def _made(self, user: str, rooms: Mapping[str, float], now: float) -> UserNeeds:
        named = sorted(self._applications.get(user, ()))
        named += sorted(application for application in rooms if application and application not in named)
        entries: list[dict[str, object]] = []
        needs: list[Records] = []
        for application in [None, *named[:MAX_APPLICATIONS]]:
            subject = with_home_vo(Subject(user, application), self._home_vo)
            resolved = resolve(subject, (), self._sets, now)
            room = max(rooms.values(), default=None) if application is None else rooms.get(application)
            needs.append(
                need_of([requirement.requirement for requirement in resolved], self._stated, room=room)
            )
            entries.append(
                {
                    "application": application,
                    "requirements": [_described(requirement, self._stated) for requirement in resolved],
                    "room_bytes": room,
                    "expected_from": None if room is None else HISTORY,
                }
            )
        generation = blake2b(orjson.dumps(entries), digest_size=8).hexdigest()
        body = orjson.dumps([{"user": user, "generation": generation, **entry} for entry in entries])[1:-1]
        return UserNeeds(generation, body, tuple(needs))


def rounded_up(room: float) -> float:
    """Return a size rounded up to a quarter of a doubling."""
    return 0.0 if room <= 0 else math.ceil(2.0 ** (math.ceil(math.log2(room) * _STEPS - 1e-9) / _STEPS))


def _described(requirement: ResolvedRequirement, stated: tuple[str, ...]) -> dict[str, object]:
    asked = requirement.requirement
    return {
        "kind": asked.kind.value,
        "code": code_of(asked.kind, stated),
        "bound": asked.bound,
        "weight": asked.weight,
        "hard": asked.strictness is Strictness.HARD,
        "at_most": asked.kind.at_most,
        "unit": asked.kind.unit,
        "size": asked.kind.size,
        "level": requirement.level.value,
        "level_name": requirement.level_name,
        "profile": requirement.profile,
    }
