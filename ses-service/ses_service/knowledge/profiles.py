"""Profiles that people stored: requirement sets at profile level, which other sets take up by name.

A name belongs to its part before the last colon: ``alice:simulate`` to a user, ``%climate:simulate`` to a
virtual organisation; without one to the site.
"""

from collections.abc import Iterable

from ses_service.knowledge.terms import requirement_set_iri
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Level, Profile, RequirementSet


def stored_profile(requirement_set: RequirementSet) -> Profile:
    """Return a set at profile level as the profile others take up."""
    return Profile(
        requirement_set.name,
        requirement_set.requirements,
        label=requirement_set.name,
        definition=requirement_set.definition,
        iri=str(requirement_set_iri(Level.PROFILE, requirement_set.name)),
        measured=requirement_set.measured,
        modified_at=requirement_set.modified_at,
        modified_by=requirement_set.modified_by,
    )


def profiles_by_name(sets: Iterable[RequirementSet]) -> dict[str, Profile]:
    """Return all profiles there are: of the vocabulary, then those stored, by name."""
    stored = (
        requirement_set
        for requirement_set in sets
        if requirement_set.level is Level.PROFILE and requirement_set.requirements
    )
    by_name = {
        requirement_set.name: stored_profile(requirement_set)
        for requirement_set in sorted(stored, key=lambda requirement_set: requirement_set.name)
    }
    return {**vocabulary().profiles, **{k: v for k, v in by_name.items() if k not in vocabulary().profiles}}


def owner_of(level: Level, name: str) -> str:
    """Return whose a profile, or application, is by its name: a user, ``%VO``, or "" for the site.

    An application may have colons in its name, a profile has none.
    """
    return name.partition(":")[0] if level is Level.APPLICATION else name.rpartition(":")[0]
