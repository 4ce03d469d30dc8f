"""What people may do with requirement sets, and the questions pages ask about them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from ses_client.client import ServiceClient
from ses_client.errors import ConflictError
from ses_client.messages.requirements import Requirement, RequirementSet, Subject
from ses_client.messages.selections import Candidate, Prediction, Selection

from ses_webface.accounts.people import Person
from ses_webface.moments import applies, to_field

_NOBODY = "nobody-in-particular"  # a subject without sets of its own, for previews of VO and site


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that applies to one person."""

    own: RequirementSet
    applications: tuple[RequirementSet, ...]
    vo: RequirementSet | None
    site: RequirementSet
    unset_applications: tuple[str, ...]
    application: str | None
    effective: tuple[Requirement, ...]

    @property
    def application_names(self) -> list[str]:
        """Return the programs whose effective requirements one may want to see."""
        named = {stated.name.partition(":")[2] for stated in self.applications}
        return sorted(named.union(self.unset_applications, {self.application} if self.application else ()))


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that no element meets at the moment, and the element that comes nearest."""

    requirement: Requirement
    element: str
    offered: Prediction


@dataclass(frozen=True, slots=True)
class Preview:
    """The ranking that would follow from what is typed.

    ``waiting`` is what was typed and does not apply now; ``unmet`` what no element gives at the moment.
    """

    selection: Selection
    waiting: tuple[Requirement, ...]
    unmet: tuple[Unmet, ...] = ()


def may_edit(person: Person, level: str, name: str) -> bool:
    """Return whether a person may change a set: their own, that of a VO they manage, all as administrator."""
    if level == "user":
        return name == person.name
    if level == "application":
        return name.startswith(f"{person.name}:")
    return person.is_admin or (level == "vo" and name == person.managed_vo)


def may_read(service: ServiceClient, person: Person, level: str, name: str) -> bool:
    """Return whether a person may see a set: what they may edit, and what applies to them."""
    if may_edit(person, level, name) or level == "site":
        return True
    return level == "vo" and name == home_vo(service, person)


def suggested(service: ServiceClient, vo: str) -> tuple[Requirement, ...]:
    """Return what is proposed for a VO, beside what it requires of other kinds; () for nothing."""
    answer = service.suggested_for_vo(vo)
    proposed = {entry.kind: entry.proposed for entry in answer.suggested if entry.proposed is not None}
    kept = tuple(
        requirement for requirement in answer.stored.requirements if requirement.kind not in proposed
    )
    return (*kept, *proposed.values()) if proposed else ()


def overview(service: ServiceClient, person: Person, application: str | None) -> Overview:
    """Collect the sets that apply to a person and what they add up to for one application."""
    sets = service.requirement_sets(person.name).sets
    named = {stated.name.partition(":")[2] for stated in sets if stated.level == "application"}
    recent = service.placements(user=person.name, limit=100)
    seen = sorted({record.application for record in recent if record.application} - named)
    effective = service.effective(Subject(user=person.name, application=application))
    vo = effective.subject.vo
    stated_vo = next((stated for stated in sets if stated.level == "vo" and stated.name == vo), None)
    if vo and stated_vo is None:
        stated_vo = service.requirement_set("vo", vo)
    return Overview(
        own=_set_named(sets, "user", person.name),
        applications=tuple(
            stated
            for stated in sets
            if stated.level == "application" and stated.name.startswith(f"{person.name}:")
        ),
        vo=stated_vo,
        site=_set_named(sets, "site", "default"),
        unset_applications=tuple(seen),
        application=application,
        effective=tuple(effective.requirements),
    )


def inherited(service: ServiceClient, level: str, name: str) -> dict[str, Requirement]:
    """Return what each kind falls back to when the set being edited says nothing about it."""
    fallback = _if_saved(service, RequirementSet(level=level, name=name), limit=1)
    return {requirement.kind: requirement for requirement in fallback.requirements}


def preview(service: ServiceClient, edited: RequirementSet, now: float) -> Preview:
    """Ask for the ranking that would follow if ``edited`` were saved."""
    waiting = tuple(item for item in edited.requirements if not applies(item, now))
    ranking = _if_saved(service, edited)
    missed = (
        requirement
        for requirement in ranking.requirements
        if all(_misses(it, requirement.kind) for it in ranking.candidates)
    )
    unmet = (_unmet(service, miss) for miss in missed)
    return Preview(ranking, waiting, tuple(filter(None, unmet)))


def _misses(candidate: Candidate, kind: str) -> bool:
    return any(prediction.kind == kind and prediction.shortfall > 0 for prediction in candidate.predicted)


def _unmet(service: ServiceClient, requirement: Requirement) -> Unmet | None:
    """Ask which element comes nearest to one requirement alone; None where one meets it, or none is there."""
    alone = requirement.but(strictness="soft", valid_from=None, valid_until=None)
    best = _if_saved(
        service, RequirementSet(level="site", name="default", requirements=(alone,)), limit=1
    ).candidates
    offered = next(
        (prediction for it in best for prediction in it.predicted if prediction.kind == requirement.kind),
        None,
    )
    return Unmet(requirement, best[0].element, offered) if offered and offered.shortfall > 0 else None


def _if_saved(service: ServiceClient, edited: RequirementSet, limit: int = 10) -> Selection:
    """Rank the elements for a subject that the set applies to, as if it were saved."""
    user, _, application = edited.name.partition(":")
    subject = {
        "application": Subject(user=user, application=application),
        "user": Subject(user=edited.name),
        "vo": Subject(user=_NOBODY, vo=edited.name),
    }.get(edited.level, Subject(user=_NOBODY))
    draft = {
        "level": edited.level,
        "name": edited.name,
        "requirements": [requirement.as_json() for requirement in edited.requirements],
        "profile": edited.profile,
    }
    return service.select(subject, limit=limit, draft=draft)


def save(
    service: ServiceClient,
    typed: RequirementSet,
    *,
    shown: frozenset[str],
    zone: ZoneInfo,
) -> RequirementSet:
    """Save what was typed over ``typed.revision``.

    Keeps requirements of kinds that were not ``shown``, and times that look in ``zone`` as they did.  What is
    saved already, as by a form that is sent twice, is not saved again.

    Raises ConflictError, with nothing written, when somebody saved something else in between.
    """
    current = service.requirement_set(typed.level, typed.name)
    hidden = tuple(item for item in current.requirements if item.kind not in shown)
    stored = {item.kind: item for item in current.requirements}
    timed = tuple(_with_exact_times(stored.get(item.kind), item, zone) for item in typed.requirements)
    if current.revision != typed.revision:
        if _is_saved(current, timed + hidden, typed.profile):
            return current
        raise ConflictError(f"The set is at revision {current.revision}.", 412)
    return service.replace_requirements(
        typed.level,
        typed.name,
        timed + hidden,
        profile=typed.profile,
        revision=typed.revision,
    )


def _is_saved(current: RequirementSet, wanted: tuple[Requirement, ...], profile: str | None) -> bool:
    """Return whether a set states just this; bounds may come back with a few digits less."""
    stored = {item.kind: item for item in current.requirements}
    return (
        current.profile == profile
        and stored.keys() == {item.kind for item in wanted}
        and all(
            math.isclose(item.bound, stored[item.kind].bound, rel_tol=1e-6)
            and item.bounded(0.0).as_json() == stored[item.kind].bounded(0.0).as_json()
            for item in wanted
        )
    )


def _with_exact_times(stored: Requirement | None, typed: Requirement, zone: ZoneInfo) -> Requirement:
    """Return what was typed with the stored times where the page, without fractions, shows the same."""
    if stored is None:
        return typed
    same_from = to_field(stored.valid_from, zone) == to_field(typed.valid_from, zone)
    same_until = to_field(stored.valid_until, zone) == to_field(typed.valid_until, zone)
    return typed.but(
        valid_from=stored.valid_from if same_from else typed.valid_from,
        valid_until=stored.valid_until if same_until else typed.valid_until,
    )


def home_vo(service: ServiceClient, person: Person) -> str | None:
    """Return the VO whose defaults apply to a person."""
    return service.effective(Subject(user=person.name)).subject.vo


def _set_named(sets: Iterable[RequirementSet], level: str, name: str) -> RequirementSet:
    matching = (stated for stated in sets if stated.level == level and stated.name == name)
    return next(matching, RequirementSet(level=level, name=name))
