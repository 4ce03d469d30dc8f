"""Which requirements apply to a subject: per kind, the most particular level that states one.

The order is explicit, application, user, VO, site.  A level that states a kind hides every later
level for that kind and no other.  At one level, what the set states goes before what its profile states.
A requirement outside its time is as if it were not stated.  Does not look anything up: sets are passed in.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ses_client.names import SITE_NAME

from ses_service.model.entities import (
    Kind,
    Level,
    Profile,
    Requirement,
    RequirementSet,
    ResolvedRequirement,
    Strictness,
    Subject,
)
from ses_service.model.kinds import in_order
from ses_service.model.limits import MAX_REQUIREMENTS

EXPLICIT_NAME = "request"

SetIndex: TypeAlias = Mapping[tuple[Level, str], RequirementSet]


def index_sets(sets: Iterable[RequirementSet]) -> dict[tuple[Level, str], RequirementSet]:
    """Return the sets by level and name."""
    return {(requirement_set.level, requirement_set.name): requirement_set for requirement_set in sets}


def application_name(user: str, application: str) -> str:
    """Return the name of the set that holds a user's requirements for one application."""
    return f"{user}:{application}"


def levels_of(subject: Subject) -> list[tuple[Level, str]]:
    """Return the level and name of each set that applies, most particular first."""
    levels = []
    if subject.application is not None:
        levels.append((Level.APPLICATION, application_name(subject.user, subject.application)))
    levels.append((Level.USER, subject.user))
    if subject.vo is not None:
        levels.append((Level.VO, subject.vo))
    levels.append((Level.SITE, SITE_NAME))
    return levels


def resolve(
    subject: Subject,
    explicit: Iterable[Requirement],
    sets: SetIndex,
    now: float,
    profile: Profile | None = None,
) -> tuple[ResolvedRequirement, ...]:
    """Return one requirement per kind that anyone stated and that applies ``now``, kinds in their order.

    Of more than a file can have, hard ones go before soft ones.
    ``profile`` is one the request itself names.  ``subject.vo`` must have been filled by
    :func:`ses_service.model.entities.with_home_vo`.
    """
    by_kind: dict[Kind, ResolvedRequirement] = {}
    _take(by_kind, explicit, now, Level.EXPLICIT, EXPLICIT_NAME)
    if profile is not None:
        _take(by_kind, profile.requirements, now, Level.EXPLICIT, EXPLICIT_NAME, profile.name)
    for requirement_set in filter(None, map(sets.get, levels_of(subject))):
        _take(by_kind, requirement_set.requirements, now, requirement_set.level, requirement_set.name)
        if requirement_set.profile is not None:
            _take(
                by_kind,
                requirement_set.profile.requirements,
                now,
                requirement_set.level,
                requirement_set.name,
                requirement_set.profile.name,
            )
    kinds = in_order(by_kind)
    if len(kinds) > MAX_REQUIREMENTS:
        kinds.sort(key=lambda kind: by_kind[kind].requirement.strictness is not Strictness.HARD)
        kinds = in_order({kind: by_kind[kind] for kind in kinds[:MAX_REQUIREMENTS]})
    return tuple([by_kind[kind] for kind in kinds])


def _take(
    resolved: dict[Kind, ResolvedRequirement],
    stated: Iterable[Requirement],
    now: float,
    level: Level,
    name: str,
    profile: str | None = None,
) -> None:
    """Take the requirements of kinds that nobody before stated."""
    for requirement in stated:
        if requirement.kind not in resolved and requirement.applies(now):
            resolved[requirement.kind] = ResolvedRequirement(requirement, level, name, profile)


@dataclass(frozen=True, slots=True)
class PassedOver:
    """One that is stated and does not count: of another time, ``hidden_by`` another, or too many."""

    stated: ResolvedRequirement
    hidden_by: ResolvedRequirement | None = None


def passed_over(subject: Subject, sets: SetIndex, now: float) -> tuple[PassedOver, ...]:
    """Return what is stated for a subject, too, and does not count ``now``, most particular level first.

    ``subject.vo`` must have been filled by :func:`ses_service.model.entities.with_home_vo`.
    """
    counting = {resolved.requirement.kind: resolved for resolved in resolve(subject, (), sets, now)}
    passed = []
    for stated in _stated(subject, sets):
        kind = stated.requirement.kind
        if not stated.requirement.applies(now):
            passed.append(PassedOver(stated))
        elif stated != counting.get(kind):
            passed.append(PassedOver(stated, counting.get(kind)))
    return tuple(passed)


def _stated(subject: Subject, sets: SetIndex) -> Iterator[ResolvedRequirement]:
    for requirement_set in filter(None, map(sets.get, levels_of(subject))):
        for requirement in requirement_set.requirements:
            yield ResolvedRequirement(requirement, requirement_set.level, requirement_set.name)
        if requirement_set.profile is not None:
            for requirement in requirement_set.profile.requirements:
                yield ResolvedRequirement(
                    requirement, requirement_set.level, requirement_set.name, requirement_set.profile.name
                )


def next_change(sets: Iterable[RequirementSet], now: float) -> float:
    """Return when the next window of any requirement opens or closes after ``now``; infinity for never."""
    bounds = (
        bound
        for requirement_set in sets
        for requirement in requirement_set.with_profile
        for bound in (requirement.valid_from, requirement.valid_until)
        if bound is not None and bound > now
    )
    return min(bounds, default=math.inf)


def sets_for_user(user: str, vo: str | None, sets: SetIndex) -> tuple[RequirementSet, ...]:
    """Return every set that can apply to one of the user's programs, by level and name."""
    prefix = application_name(user, "")
    chosen = [
        requirement_set
        for (level, name), requirement_set in sets.items()
        if (level is Level.APPLICATION and name.startswith(prefix))
        or (level is Level.USER and name == user)
        or (level is Level.VO and vo is not None and name == vo)
        or (level is Level.SITE and name == SITE_NAME)
    ]
    return ordered(chosen)


def ordered(sets: Iterable[RequirementSet]) -> tuple[RequirementSet, ...]:
    """Return the sets in the order of their levels, then by name."""
    rank = {level: place for place, level in enumerate(Level)}
    return tuple(
        sorted(sets, key=lambda requirement_set: (rank[requirement_set.level], requirement_set.name))
    )
