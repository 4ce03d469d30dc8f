"""What people may do with requirement sets, and the questions pages ask about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ses_webface.accounts.services import Person
from ses_webface.errors import RevisionConflictError
from ses_webface.quantities import KIND_BY_NAME
from ses_webface.selection_client import PlacementFilter, SelectionService
from ses_webface.selection_model import Requirement, RequirementSet, Resolved, Selection, Subject

LEVELS = ("application", "user", "vo", "site")
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
    although they are being removed here.
    """

    selection: Selection
    sources: dict[str, tuple[str, str]]
    lingering: tuple[str, ...]


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
    """Tell whether a person may change a set: their own ones; VO and site as administrator."""
    if level == "user":
        return name == person.name
    if level == "application":
        return name.startswith(f"{person.name}:")
    return person.is_admin


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
    effective = service.effective(Subject(person.name, application, person.vo), acting=acting)
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


def inherited(service: SelectionService, person: Person, level: str, name: str) -> dict[str, Resolved]:
    """Return what each kind falls back to when the set being edited says nothing about it."""
    return {
        item.requirement.kind: item
        for item in _resolve(service, person, _sets_below(service, person, level), level, name)
    }


def _of_profile(service: SelectionService, person: Person, name: str | None) -> tuple[Requirement, ...]:
    """Return what a profile requires; nothing for none and for one that is not known."""
    known = service.profiles(acting=person.name) if name else ()
    return next((one.requirements for one in known if one.name == name), ())


def preview(
    service: SelectionService,
    person: Person,
    level: str,
    name: str,
    typed: tuple[Requirement, ...],
    profile: str | None = None,
) -> Preview:
    """Ask for the ranking that would follow if ``typed`` and a profile were saved at this level.

    What is typed and what it would inherit goes to the service as explicit requirements, for a
    subject whose own sets add nothing more.
    """
    stated = {item.kind for item in typed}
    taken_up = (item for item in _of_profile(service, person, profile) if item.kind not in stated)
    here = tuple(Resolved(requirement, level, name) for requirement in (*typed, *taken_up))
    kinds = {item.requirement.kind for item in here}
    below = inherited(service, person, level, name)
    wanted = here + tuple(item for kind, item in below.items() if kind not in kinds)
    subject = Subject(person.name, None, person.vo)
    if level in ("vo", "site"):
        subject = Subject(_NOBODY)
    elif level == "user":
        effective = service.effective(subject, acting=person.name).requirements
        if {item.requirement.kind for item in effective} - {item.requirement.kind for item in wanted}:
            subject = Subject(_NOBODY)
    selection = service.select(subject, tuple(item.requirement for item in wanted), acting=person.name)
    sources = {item.requirement.kind: (item.level, item.level_name) for item in wanted}
    lingering = tuple(
        item.requirement.kind for item in selection.requirements if item.requirement.kind not in sources
    )
    return Preview(selection, sources, lingering)


def save(
    service: SelectionService,
    person: Person,
    level: str,
    name: str,
    typed: tuple[Requirement, ...],
    profile: str | None,
    revision: int,
) -> RequirementSet:
    """Save what was typed over ``revision``.

    Keeps requirements of kinds this portal does not know, and the times of those it does.

    Raises RevisionConflictError, with nothing written, when somebody saved in between.
    """
    current = service.requirement_set(level, name, acting=person.name)
    if current.revision != revision:
        raise RevisionConflictError(f"The set is at revision {current.revision}.")
    foreign = tuple(item for item in current.requirements if item.kind not in KIND_BY_NAME)
    stored = {item.kind: item for item in current.requirements}
    timed = tuple(_with_times_of(stored.get(item.kind), item) for item in typed)
    return service.replace_requirements(
        level, name, timed + foreign, profile=profile, revision=revision, acting=person.name
    )


def _with_times_of(stored: Requirement | None, typed: Requirement) -> Requirement:
    if stored is None:
        return typed
    return replace(typed, valid_from=stored.valid_from, valid_until=stored.valid_until)


def home_vo(service: SelectionService, person: Person) -> str | None:
    """Return the VO whose defaults apply to a person."""
    return service.effective(Subject(person.name, None, person.vo), acting=person.name).subject.vo


def _one(sets: Iterable[RequirementSet], level: str, name: str) -> RequirementSet:
    found = (stated for stated in sets if stated.level == level and stated.name == name)
    return next(found, RequirementSet(level, name))


def _sets_below(service: SelectionService, person: Person, level: str) -> tuple[RequirementSet, ...]:
    if level == "site":
        return ()
    if level == "vo":
        return (service.requirement_set("site", "default", acting=person.name),)
    return service.requirement_sets(person.name, acting=person.name)


def _resolve(
    service: SelectionService, person: Person, sets: Iterable[RequirementSet], level: str, name: str
) -> list[Resolved]:
    """Resolve kind by kind over the levels below ``level``: the first level that states one wins."""
    below = LEVELS[LEVELS.index(level) + 1 :]
    found: dict[str, Resolved] = {}
    for wanted in below:
        for stated in sets:
            if stated.level == wanted and (stated.level, stated.name) != (level, name):
                for requirement in (
                    *stated.requirements,
                    *_of_profile(service, person, stated.profile),
                ):
                    found.setdefault(requirement.kind, Resolved(requirement, stated.level, stated.name))
    return list(found.values())
