"""What would go elsewhere if an element took no further files. Pure: judged by loads as they are now.

Asked of every requirement set that somebody stated, within the storage system of the element, because files
never leave their storage system.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ses_service.decision.question import Decision, Question
from ses_service.decision.resolve import SetIndex, resolve
from ses_service.model.columns import ElementTable, Floats
from ses_service.model.entities import Level, RequirementSet, Subject, with_home_vo

Decide: TypeAlias = Callable[[Question], Decision]

MAX_SETS = 200
"""Requirement sets that are looked at; at 10,000 elements each takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A requirement set whose next file would have gone to the element; ``instead`` is ``None``: nowhere."""

    level: Level
    name: str
    distance: float
    instead: str | None
    distance_instead: float | None


@dataclass(frozen=True, slots=True)
class Without:
    """What depends on an element: ``moved`` of ``sets_asked`` requirement sets, of ``sets_total``.

    ``open_placements`` are open on its device, of ``open_in_system`` in its storage system; ``others`` are
    the elements of the storage system that would still take a file.
    """

    element: str
    open_placements: int
    open_in_system: int
    others: int
    sets_total: int
    sets_asked: int
    moved: tuple[Moved, ...]


def without(
    element: str, table: ElementTable, own: Floats, sets: SetIndex, now: float, decide: Decide
) -> Without:
    """Return what depends on an element of the table. Raises ``KeyError`` for one it has not.

    ``own`` is how many files are open on each row. ``decide`` is asked once or twice for each set.
    """
    row = table.index[element]
    system = table.elements[row].storage_system
    stated = [requirement_set for _, requirement_set in sorted(sets.items()) if _applies(requirement_set)]
    ask = Question(Subject(""), storage_system=system, exclude=frozenset({element}), limit=0)
    home_vo = table.environment.home_vo
    moved = []
    for requirement_set in stated[:MAX_SETS]:
        who = with_home_vo(subject_of(requirement_set), home_vo)
        question = replace(ask, subject=who, requirements=resolve(who, (), sets, now), limit=1)
        first = decide(replace(question, exclude=frozenset())).candidates
        if first and first[0].element.id == element:
            other = next(iter(decide(question).candidates), None)
            instead = (None, None) if other is None else (other.element.id, other.distance)
            moved.append(Moved(requirement_set.level, requirement_set.name, first[0].distance, *instead))
    return Without(
        element=element,
        open_placements=int(own[row]),
        open_in_system=int(own[np.unique(table.device[table.system == table.system[row]])].sum()),
        others=len(decide(ask).candidates),
        sets_total=len(stated),
        sets_asked=min(len(stated), MAX_SETS),
        moved=tuple(moved),
    )


def _applies(requirement_set: RequirementSet) -> bool:
    """Whether a set says something, and to somebody: stored profiles apply where they are taken up."""
    return requirement_set.level is not Level.PROFILE and requirement_set.says_anything


def subject_of(requirement_set: RequirementSet) -> Subject:
    """Return somebody a requirement set applies to, and no set that goes before it."""
    if requirement_set.level is Level.APPLICATION:
        user, _, application = requirement_set.name.partition(":")
        return Subject(user, application)
    if requirement_set.level is Level.VO:
        return Subject("", vo=requirement_set.name)
    return Subject(requirement_set.name if requirement_set.level is Level.USER else "")
