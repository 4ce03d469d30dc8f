"""Which requirements apply to a subject: per kind, the most particular level that states one.

The order is explicit, application, user, VO, site.  A level that states a kind hides every later
level for that kind and no other.  Does not look anything up: the sets are passed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from ses_service.model import Kind, Level, Requirement, RequirementSet, ResolvedRequirement, Subject

SITE_NAME = "default"
EXPLICIT_NAME = "request"

SetIndex: TypeAlias = Mapping[tuple[Level, str], RequirementSet]


def index_sets(sets: Iterable[RequirementSet]) -> dict[tuple[Level, str], RequirementSet]:
    """Return the sets by level and name."""
    return {(one.level, one.name): one for one in sets}


def application_name(user: str, application: str) -> str:
    """Return the name of the set that holds a user's requirements for one application."""
    return f"{user}:{application}"


def with_home_vo(subject: Subject, home_vo: Mapping[str, str]) -> Subject:
    """Return the subject with the VO its user belongs to, unless it names one itself."""
    if subject.vo is not None:
        return subject
    return replace(subject, vo=home_vo.get(subject.user))


def levels_of(subject: Subject) -> Iterator[tuple[Level, str]]:
    """Yield the level and name of each set that applies, most particular first."""
    if subject.application is not None:
        yield Level.APPLICATION, application_name(subject.user, subject.application)
    yield Level.USER, subject.user
    if subject.vo is not None:
        yield Level.VO, subject.vo
    yield Level.SITE, SITE_NAME


def resolve(
    subject: Subject, explicit: Iterable[Requirement], sets: SetIndex
) -> tuple[ResolvedRequirement, ...]:
    """Return one requirement per kind that anyone stated, in the order of ``Kind``.

    ``subject.vo`` must have been filled by :func:`with_home_vo`.
    """
    found: dict[Kind, ResolvedRequirement] = {}
    for requirement in explicit:
        found.setdefault(requirement.kind, ResolvedRequirement(requirement, Level.EXPLICIT, EXPLICIT_NAME))
    for level, name in levels_of(subject):
        stated = sets.get((level, name))
        for requirement in stated.requirements if stated else ():
            found.setdefault(requirement.kind, ResolvedRequirement(requirement, level, name))
    return tuple(found[kind] for kind in Kind if kind in found)


def sets_for_user(user: str, vo: str | None, sets: SetIndex) -> tuple[RequirementSet, ...]:
    """Return every set that can apply to one of the user's programs, by level and name."""
    prefix = application_name(user, "")
    chosen = [
        one
        for (level, name), one in sets.items()
        if (level is Level.APPLICATION and name.startswith(prefix))
        or (level is Level.USER and name == user)
        or (level is Level.VO and vo is not None and name == vo)
        or (level is Level.SITE and name == SITE_NAME)
    ]
    return ordered(chosen)


def ordered(sets: Iterable[RequirementSet]) -> tuple[RequirementSet, ...]:
    """Return the sets in the order of their levels, then by name."""
    rank = {level: place for place, level in enumerate(Level)}
    return tuple(sorted(sets, key=lambda one: (rank[one.level], one.name)))
