"""Profiles as requests name them: those of the vocabulary and those people stored."""

import difflib

from ses_service.api.problems import ForbiddenProblem, UnknownNameProblem, invalid
from ses_service.api.schemas.requests import RequirementSetIn
from ses_service.decision.resolve import SetIndex
from ses_service.knowledge.profiles import owner_of, profiles_by_name, stored_profile
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Level, Profile
from ses_service.model.limits import MAX_APPLICATIONS

_LIMITS = {
    Level.PROFILE: (200, "profiles"),
    Level.APPLICATION: (MAX_APPLICATIONS, "applications with requirements of their own"),
}
"""How many one owner may have."""


def find_profile(name: str | None, sets: SetIndex, location: str = "json.profile") -> Profile | None:
    """Return the profile a request names, None for none.  Raises UnknownNameProblem."""
    if name is None:
        return None
    described, stored = vocabulary().profiles.get(name), sets.get((Level.PROFILE, name))
    if described is not None:
        return described
    if stored is not None and stored.requirements:
        return stored_profile(stored)
    near = difflib.get_close_matches(name, profiles_by_name(sets.values()), 1)
    hint = f"did you mean {near[0]}?" if near else "ses requirements kinds lists those there are"
    raise UnknownNameProblem([{"location": location, "message": f"unknown profile {name!r}; {hint}"}])


def check_stored(level: Level, name: str, body: RequirementSetIn, sets: SetIndex) -> None:
    """Raise invalid or ForbiddenProblem for what a level may not say, and one set too many."""
    if level in _LIMITS and (body.requirements or body.profile):
        limit, what = _LIMITS[level]
        owner = owner_of(level, name)
        stored = [
            other
            for (where, other), requirement_set in sets.items()
            if where is level and requirement_set.says_anything and owner_of(level, other) == owner
        ]
        if name not in stored and len(stored) >= limit:
            whose = owner or "the site"
            raise ForbiddenProblem(
                f"{whose} has {len(stored)} {what}, the most there may be: remove one first."
            )
    if level is not Level.PROFILE:
        if body.definition or body.measured is not None:
            raise invalid("json", "definition and measured are for sets at level profile")
        return
    if name in vocabulary().profiles:
        raise invalid("path.name", f"{name} is a profile of the vocabulary; choose another name")
    if body.profile is not None:
        raise invalid("json.profile", "a profile takes up no other profile")
