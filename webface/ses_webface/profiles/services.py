"""Who takes a profile up, and what their files got since of what was predicted for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ses_client.client import ServiceClient
from ses_client.messages.files import Cause, Sum
from ses_client.messages.requirements import LEVELS, RequirementSet
from ses_client.messages.vocabulary import Profile

from ses_webface.accounts.people import Person

MAX_SETS = 10
"""Of one profile: each is a question to the service."""
OTHERS = "Of other people"


@dataclass(frozen=True, slots=True)
class Use:
    """A set that takes a profile up, and what the person's files got since then.

    ``applications`` has one row for each program the set is for; ``jobs`` and ``causes`` are those of a
    set of one application.
    """

    stated: RequirementSet
    applications: Sequence[Sum] = ()
    jobs: Sequence[Sum] = ()
    causes: Sequence[Cause] = ()


def by_owner(profiles: Iterable[Profile], person: Person) -> list[tuple[str, list[Profile]]]:
    """Return profiles by whose they are: of the site, the person's own, of VOs, of others."""
    groups: dict[str, list[Profile]] = {"Of the site": [], "Yours": [], "Of VOs": [], OTHERS: []}
    for profile in profiles:
        owner, colon, _name = profile.profile.partition(":")
        whose = "Of VOs" if owner.startswith("%") else "Yours" if owner == person.name else OTHERS
        groups[whose if colon else "Of the site"].append(profile)
    return [(whose, those) for whose, those in groups.items() if those]


def takers(service: ServiceClient, person: Person) -> dict[str, list[RequirementSet]]:
    """Return the sets that can apply to a person and take a profile up, by the profile's name."""
    by_profile: dict[str, list[RequirementSet]] = {}
    for requirement_set in service.requirement_sets(person.name).sets:
        if requirement_set.profile:
            by_profile.setdefault(requirement_set.profile, []).append(requirement_set)
    return by_profile


def uses(service: ServiceClient, person: Person, profile: Profile) -> tuple[Use, ...]:
    """Return what takes a profile up, the first ``MAX_SETS``, each with what the person's files got."""
    by_profile = takers(service, person)
    every = [requirement_set for several in by_profile.values() for requirement_set in several]
    return tuple(
        _use(service, person, requirement_set, profile, every)
        for requirement_set in by_profile.get(profile.profile, ())[:MAX_SETS]
    )


def _use(
    service: ServiceClient,
    person: Person,
    stated: RequirementSet,
    profile: Profile,
    every: Iterable[RequirementSet],
) -> Use:
    """Ask for the files since set and profile are as they are."""
    since = max((at for at in (stated.modified_at, profile.modified_at) if at is not None), default=None)
    wanted = {"user": person.name, "application": _application(stated), "since": since}
    if stated.level == "application":
        report = service.report(wanted)
        return Use(stated, report.applications, tuple(job for job in report.jobs if job.name), report.causes)
    if any(other.level != "application" and _rank(other) < _rank(stated) for other in every):
        return Use(stated)  # a nearer default takes up a profile, too
    others = {_application(other) for other in every}
    report = service.report(wanted)
    return Use(
        stated, tuple(application for application in report.applications if application.name not in others)
    )


def _application(stated: RequirementSet) -> str | None:
    return stated.name.partition(":")[2] if stated.level == "application" else None


def _rank(stated: RequirementSet) -> int:
    return LEVELS.index(stated.level)
