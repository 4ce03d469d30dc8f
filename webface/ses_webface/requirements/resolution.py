"""Why a requirement applies: every level that states a kind, and what keeps the others from counting.

Follows the service's rule (most particular level first; at one level the set before its profile; outside
its time as if not stated) to explain it; what applies is what the service says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ses_webface.moments import applies, phase
from ses_webface.selection_model import Requirement, RequirementSet, Resolved
from ses_webface.vocabulary import Kind, Vocabulary

LEVELS = ("application", "user", "vo", "site")
Fate = Literal["applies", "hidden", "future", "over"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One requirement somebody stated, and what became of it."""

    requirement: Requirement
    level: str
    level_name: str
    profile: str | None
    fate: Fate


@dataclass(frozen=True, slots=True)
class Explanation:
    """One kind: what applies (None: nothing) and every statement of it, most particular first.

    ``kind`` is None for one that is not described any more.
    """

    name: str
    kind: Kind | None
    applying: Resolved | None
    statements: tuple[Statement, ...]


def stated_by(one: RequirementSet, vocabulary: Vocabulary) -> Iterator[tuple[Requirement, str | None]]:
    """Give what a set states, then what its profile does with the profile's name."""
    for requirement in one.requirements:
        yield requirement, None
    for requirement in vocabulary.required_by(one.profile):
        yield requirement, one.profile


def in_order_of_levels(sets: Iterable[RequirementSet], *, application: str | None) -> list[RequirementSet]:
    """Return the sets that count for one application (``USER:NAME``), most particular first."""
    counting = [one for one in sets if one.level != "application" or one.name == application]
    return sorted(counting, key=lambda one: LEVELS.index(one.level) if one.level in LEVELS else -1)


def first_that_apply(
    sets: Iterable[RequirementSet], vocabulary: Vocabulary, now: float
) -> dict[str, Resolved]:
    """Return, kind by kind, what the first of ``sets`` that states it gives."""
    found: dict[str, Resolved] = {}
    for one in sets:
        for requirement, profile in stated_by(one, vocabulary):
            if applies(requirement, now):
                found.setdefault(requirement.kind, Resolved(requirement, one.level, one.name, profile))
    return found


def explain(
    sets: Iterable[RequirementSet], effective: Iterable[Resolved], vocabulary: Vocabulary, now: float
) -> tuple[Explanation, ...]:
    """Explain every kind that is stated in ``sets`` (most particular first) or applies."""
    applying = {item.requirement.kind: item for item in effective}
    stated: dict[str, list[Statement]] = {kind: [] for kind in applying}
    for one in sets:
        for requirement, profile in stated_by(one, vocabulary):
            listed = stated.setdefault(requirement.kind, [])
            now_or_not = phase(requirement, now)
            fate: Fate = "hidden"
            if now_or_not != "now":
                fate = now_or_not
            elif not any(earlier.fate == "applies" for earlier in listed):
                fate = "applies"
            listed.append(Statement(requirement, one.level, one.name, profile, fate))
    names = sorted(stated, key=lambda name: (vocabulary.rank(name), name))
    return tuple(
        Explanation(name, vocabulary.kind(name), applying.get(name), tuple(stated[name])) for name in names
    )
