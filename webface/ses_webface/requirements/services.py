"""What people may do with requirement sets, and the questions pages ask about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from ses_webface.accounts.people import Person
from ses_webface.errors import RevisionConflictError
from ses_webface.moments import applies, to_field
from ses_webface.requirements.resolution import (
    LEVELS,
    Explanation,
    explain,
    first_that_apply,
    in_order_of_levels,
)
from ses_webface.selection_client import PlacementFilter, SelectionService
from ses_webface.selection_model import Requirement, RequirementSet, Resolved, Selection, Subject
from ses_webface.vocabulary import Vocabulary

_MAX_NAME = 128
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
    effective: tuple[Resolved, ...]

    @property
    def application_names(self) -> list[str]:
        """Return the programs whose effective requirements one may want to see."""
        named = {stated.name.partition(":")[2] for stated in self.applications}
        return sorted(named.union(self.unset_applications, {self.application} if self.application else ()))


@dataclass(frozen=True, slots=True)
class Preview:
    """The ranking that would follow from what is typed.

    ``sources`` names level and name per kind; ``lingering`` are kinds the service still counts
    although they are being removed here; ``waiting`` is what was typed and does not apply now.
    """

    selection: Selection
    sources: dict[str, tuple[str, str]]
    lingering: tuple[str, ...]
    waiting: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Why each requirement of a subject applies, or does not."""

    subject: Subject
    explanations: tuple[Explanation, ...]


def is_name(level: str, name: str) -> bool:
    """Tell whether a level can have a set of this name."""
    printable = name.isprintable() and name == name.strip() and 0 < len(name) <= _MAX_NAME
    if level == "application":
        user, colon, application = name.partition(":")
        return (
            printable and bool(user and colon and application) and "/" not in name and ":" not in application
        )
    if level == "site":
        return name == "default"
    return level in LEVELS and printable and "/" not in name and (level == "vo" or ":" not in name)


def may_edit(person: Person, level: str, name: str) -> bool:
    """Tell whether a person may change a set: their own, that of a VO they manage, all as administrator."""
    if level == "user":
        return name == person.name
    if level == "application":
        return name.startswith(f"{person.name}:")
    return person.is_admin or (level == "vo" and name == person.managed_vo)


def may_read(service: SelectionService, person: Person, level: str, name: str) -> bool:
    """Tell whether a person may see a set: what they may edit, and what applies to them."""
    if may_edit(person, level, name) or level == "site":
        return True
    return level == "vo" and name == home_vo(service, person)


def overview(service: SelectionService, person: Person, application: str | None) -> Overview:
    """Collect the sets that apply to a person and what they add up to for one application."""
    acting = person.name
    sets = service.requirement_sets(person.name, acting=acting)
    named = {stated.name.partition(":")[2] for stated in sets if stated.level == "application"}
    recent = service.placements(PlacementFilter(user=person.name, limit=100), acting=acting)
    seen = sorted({record.application for record in recent if record.application} - named)
    effective = service.effective(Subject(person.name, application), acting=acting)
    vo = effective.subject.vo
    stated_vo = next((stated for stated in sets if stated.level == "vo" and stated.name == vo), None)
    if vo and stated_vo is None:
        stated_vo = service.requirement_set("vo", vo, acting=acting)
    return Overview(
        own=_one(sets, "user", person.name),
        applications=tuple(
            stated
            for stated in sets
            if stated.level == "application" and stated.name.startswith(f"{acting}:")
        ),
        vo=stated_vo,
        site=_one(sets, "site", "default"),
        unset_applications=tuple(seen),
        application=application,
        effective=effective.requirements,
    )


def resolution(
    service: SelectionService, acting: str, subject: Subject, words: Vocabulary, now: float
) -> Resolution:
    """Explain what applies to a subject, kind by kind."""
    effective = service.effective(subject, acting=acting)
    sets = service.requirement_sets(subject.user, acting=acting)
    application = f"{subject.user}:{subject.application}" if subject.application else None
    counting = [one for one in sets if one.level != "vo" or one.name == effective.subject.vo]
    if effective.subject.vo and not any(one.level == "vo" for one in counting):
        counting.append(service.requirement_set("vo", effective.subject.vo, acting=acting))
    ordered = in_order_of_levels(counting, application=application)
    return Resolution(effective.subject, explain(ordered, effective.requirements, words, now))


def inherited(
    service: SelectionService, person: Person, level: str, words: Vocabulary, now: float
) -> dict[str, Resolved]:
    """Return what each kind falls back to when the set being edited says nothing about it."""
    below = LEVELS[LEVELS.index(level) + 1 :]
    sets = [one for one in _sets_below(service, person, level) if one.level in below]
    return first_that_apply(in_order_of_levels(sets, application=None), words, now)


def preview(
    service: SelectionService,
    person: Person,
    edited: RequirementSet,
    words: Vocabulary,
    now: float,
) -> Preview:
    """Ask for the ranking that would follow if ``edited`` were saved.

    What is typed and what it would inherit goes to the service as explicit requirements, for a
    subject whose own sets add nothing more.
    """
    wanted = first_that_apply([edited], words, now)
    for kind, item in inherited(service, person, edited.level, words, now).items():
        wanted.setdefault(kind, item)
    subject = Subject(person.name)
    if edited.level in ("vo", "site"):
        subject = Subject(_NOBODY)
    elif edited.level == "user":
        effective = service.effective(subject, acting=person.name).requirements
        if {item.requirement.kind for item in effective} - set(wanted):
            subject = Subject(_NOBODY)
    asked = tuple(replace(item.requirement, valid_from=None, valid_until=None) for item in wanted.values())
    selection = service.select(subject, asked, acting=person.name)
    return Preview(
        selection,
        sources={kind: (item.level, item.level_name) for kind, item in wanted.items()},
        lingering=tuple(
            item.requirement.kind for item in selection.requirements if item.requirement.kind not in wanted
        ),
        waiting=tuple(item for item in edited.requirements if not applies(item, now)),
    )


def save(
    service: SelectionService,
    person: Person,
    typed: RequirementSet,
    *,
    shown: frozenset[str],
    zone: ZoneInfo,
) -> RequirementSet:
    """Save what was typed over ``typed.revision``.

    Keeps requirements of kinds that were not ``shown``, and times that look in ``zone`` as they did.

    Raises RevisionConflictError, with nothing written, when somebody saved in between.
    """
    current = service.requirement_set(typed.level, typed.name, acting=person.name)
    if current.revision != typed.revision:
        raise RevisionConflictError(f"The set is at revision {current.revision}.")
    foreign = tuple(item for item in current.requirements if item.kind not in shown)
    stored = {item.kind: item for item in current.requirements}
    timed = tuple(_with_exact_times(stored.get(item.kind), item, zone) for item in typed.requirements)
    return service.replace_requirements(
        typed.level,
        typed.name,
        timed + foreign,
        profile=typed.profile,
        revision=typed.revision,
        acting=person.name,
    )


def _with_exact_times(stored: Requirement | None, typed: Requirement, zone: ZoneInfo) -> Requirement:
    """Return what was typed with the stored times where the page, which shows no fractions, said the same."""
    if stored is None:
        return typed
    same_from = to_field(stored.valid_from, zone) == to_field(typed.valid_from, zone)
    same_until = to_field(stored.valid_until, zone) == to_field(typed.valid_until, zone)
    return replace(
        typed,
        valid_from=stored.valid_from if same_from else typed.valid_from,
        valid_until=stored.valid_until if same_until else typed.valid_until,
    )


def home_vo(service: SelectionService, person: Person) -> str | None:
    """Return the VO whose defaults apply to a person."""
    return service.effective(Subject(person.name), acting=person.name).subject.vo


def _one(sets: Iterable[RequirementSet], level: str, name: str) -> RequirementSet:
    found = (stated for stated in sets if stated.level == level and stated.name == name)
    return next(found, RequirementSet(level, name))


def _sets_below(service: SelectionService, person: Person, level: str) -> tuple[RequirementSet, ...]:
    if level == "site":
        return ()
    if level == "vo":
        return (service.requirement_set("site", "default", acting=person.name),)
    return service.requirement_sets(person.name, acting=person.name)
