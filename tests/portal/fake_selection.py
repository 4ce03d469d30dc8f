"""A selection service inside the process: for tests and for looking at pages.

Keeps the promises of :class:`ses_client.client.ServiceClient` on a site given to
it, with revisions, conflicts and levels as the real one has them.  It does NOT decide like the
real one: no ledger, no load model; an element's rate is the number it was made with.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

from fake_elements import ElementsInMemory
from fake_files import FilesInMemory
from fake_groups import GroupsInMemory
from fake_history import HistoryInMemory
from fake_runs import RunsInMemory
from fake_tokens import TokensInMemory
from fake_workloads import WORKLOADS, WorkloadsInMemory
from ses_client.client import ServiceClient
from ses_client.errors import ConflictError, NotFoundError, UnreachableError
from ses_client.messages.elements import Element
from ses_client.messages.requirements import (
    Effective,
    PassedOver,
    Requirement,
    RequirementSet,
    RequirementSets,
    ResolvedRequirement,
    Subject,
    Suggested,
    Suggestion,
)
from ses_client.messages.selections import Candidate, PlacementRecord, Prediction, Rates, Refusal, Selection
from ses_client.messages.vocabulary import Kind, Vocabulary
from ses_webface.moments import applies, phase
from ses_webface.quantities import to_canonical

_RATE = (("kB/s", 1e-3), ("MB/s", 1.0), ("MiB/s", 1.048576), ("GB/s", 1e3), ("GiB/s", 1073.741824))
_SPACE = (("MB", 1e-3), ("GB", 1.0), ("GiB", 1.073741824), ("TB", 1e3), ("TiB", 1099.511627776))
_MEANT = {
    "current-read-rate": "What one more reader would get now.",
    "average-read-rate": "The same over a long window.",
    "current-write-rate": "What one more writer would get now.",
    "average-write-rate": "The same over a long window.",
    "free-capacity": "What an element can still take in.",
}


def _kind(name: str, definition: str) -> Kind:
    unit, sizes = ("GB", dict(_SPACE)) if name == "free-capacity" else ("MB/s", dict(_RATE))
    label = name.replace("-", " ")
    return Kind(kind=name, label=label, definition=definition, unit=unit, units=[*sizes], sizes=sizes)


KINDS = tuple(_kind(*kind) for kind in _MEANT.items())


class InMemorySelectionService(
    ElementsInMemory,
    GroupsInMemory,
    FilesInMemory,
    TokensInMemory,
    RunsInMemory,
    HistoryInMemory,
    WorkloadsInMemory,
    ServiceClient,
):
    """A site of ``places``; ``home_vo`` maps users to VOs; ``clock`` gives seconds since the epoch.

    ``acted_for`` lists the person of every call, ``told`` what was told of accounts.  Set ``down`` to a
    sentence and every call fails with it until it is None again.
    """

    def __init__(
        self,
        elements: Iterable[Element] = (),
        *,
        home_vo: dict[str, str] | None = None,
        placements: Iterable[PlacementRecord] = (),
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.places = list(elements)
        self._acting: dict[str, str] = {}
        self.home_vo = dict(home_vo or {})
        self.records = list(placements)
        self.words = Vocabulary(kinds=KINDS, workloads=WORKLOADS)
        self.down: str | None = None
        self.acted_for: list[str] = []
        self.sent_accounts: list[dict[str, str]] = []
        self.suggested: tuple[Suggested, ...] = ()
        self._clock = clock
        self._sets: dict[tuple[str, str], RequirementSet] = {}
        self._lock = Lock()
        super().__init__()

    def requirement_set(self, level: str, name: str) -> RequirementSet:
        self._called()
        return self._sets.get((level, name), RequirementSet(level=level, name=name))

    def suggested_for_vo(self, vo: str) -> Suggestion:
        stored = self.requirement_set("vo", vo)
        return Suggestion(vo=vo, members=2, files=0, suggested=self.suggested, stored=stored)

    def requirement_sets(self, user: str | None = None) -> RequirementSets:
        self._called()
        vo = self.home_vo.get(user or "")
        return RequirementSets(
            sets=tuple(
                stated
                for _key, stated in sorted(self._sets.items())
                if (stated.requirements or stated.profile)
                and (
                    (stated.level == "user" and stated.name == user)
                    or (stated.level == "application" and stated.name.startswith(f"{user}:"))
                    or (stated.level == "vo" and stated.name == vo)
                    or stated.level == "site"
                )
            )
        )

    def replace_requirements(
        self,
        level: str,
        name: str,
        requirements: tuple[Requirement, ...],
        *,
        profile: str | None = None,
        revision: int,
    ) -> RequirementSet:
        with self._lock:
            current = self.requirement_set(level, name)
            if current.revision != revision:
                raise ConflictError(f"The set is at revision {current.revision}, not {revision}.", 412)
            saved = RequirementSet(
                level=level,
                name=name,
                requirements=tuple(self._canonical(requirement) for requirement in requirements),
                revision=revision + 1,
                modified_at=self._clock(),
                modified_by=self.person,
                profile=profile,
            )
            self._record(current, saved)
            self._sets[level, name] = saved
            return saved

    def vocabulary(self) -> Vocabulary:
        self._called()
        return self.words

    @property
    def person(self) -> str:
        """Whom it is asked for."""
        return self._acting.get("X-Acting-User", "nobody")

    def effective(self, subject: Subject) -> Effective:
        self._called()
        return self._effective(subject, self._sets)

    def _effective(self, subject: Subject, sets: Mapping[tuple[str, str], RequirementSet]) -> Effective:
        vo = subject.vo or self.home_vo.get(subject.user)
        names = {
            "application": f"{subject.user}:{subject.application}" if subject.application else None,
            "user": subject.user,
            "vo": vo,
            "site": "default",
        }
        requirements: dict[str, Requirement] = {}
        passed: list[PassedOver] = []
        for level, name in names.items():
            stated = sets.get((level, name)) if name else None
            if stated is None:
                continue
            by_profile = [
                (requirement, stated.profile) for requirement in self.words.required_by(stated.profile)
            ]
            for wanted, profile in [
                *((requirement, None) for requirement in stated.requirements),
                *by_profile,
            ]:
                resolved = _resolved(wanted, level=level, level_name=stated.name, profile=profile)
                if not applies(wanted, self._clock()):
                    later = phase(wanted, self._clock()) == "future"
                    passed.append(
                        PassedOver(**resolved, reason="not valid yet" if later else "not valid any more")
                    )
                elif requirements.setdefault(wanted.kind, resolved) is not resolved:
                    by = requirements[wanted.kind]
                    passed.append(
                        PassedOver(
                            **resolved, reason=f"hidden by the requirement of {by.level} {by.level_name}"
                        )
                    )
        counting = tuple(requirements[kind.kind] for kind in self.words.kinds if kind.kind in requirements)
        return Effective(subject=subject.but(vo=vo), requirements=counting, passed_over=tuple(passed))

    def select(
        self, subject: Subject, requirements: Iterable[Requirement] = (), *, limit: int = 10, **more: Any
    ) -> Selection:
        """It understands a draft."""
        self._called()
        sets, draft = self._sets, more.get("draft")
        if draft:
            stated = tuple(self._canonical(Requirement.of(drafted)) for drafted in draft["requirements"])
            key = (draft["level"], draft["name"])
            sets = {
                **sets,
                key: RequirementSet(level=key[0], name=key[1], requirements=stated, profile=draft["profile"]),
            }
        resolved = {applied.kind: applied for applied in self._effective(subject, sets).requirements}
        for requirement in requirements:
            resolved[requirement.kind] = _resolved(
                self._canonical(requirement), level="explicit", level_name=""
            )
        wanted = tuple(resolved.values())
        candidates: list[Candidate] = []
        refused: list[Refusal] = []
        for element in self.places:
            predicted = tuple(_prediction(element, item) for item in wanted)
            missed = next(
                (
                    prediction
                    for prediction, item in zip(predicted, wanted, strict=True)
                    if item.strictness == "hard" and prediction.shortfall > 0
                ),
                None,
            )
            if element.state != "active":
                refused.append(
                    Refusal(
                        element=element.id,
                        reason=element.state,
                        detail=f"{element.label} is {element.state}.",
                    )
                )
            elif missed:
                detail = f"{missed.value:g} {missed.unit} is below the hard minimum of {missed.bound:g}."
                refused.append(Refusal(element=element.id, reason="hard-requirement", detail=detail))
            else:
                candidates.append(_candidate(element, predicted, wanted))
        candidates.sort(
            key=lambda candidate: (
                round(candidate.distance / 0.02),
                -(candidate.available.write_mb_s or 0.0),
                candidate.element,
            )
        )
        ranked = tuple(
            candidate.but(rank=rank) for candidate, rank in zip(candidates, itertools.count(1), strict=False)
        )
        return Selection(
            decided_at=self._clock(),
            requirements=wanted,
            candidates=ranked[:limit],
            refused=tuple(refused),
            notes=(),
        )

    def placements(self, **wanted: str | int | None) -> tuple[PlacementRecord, ...]:
        self._called()
        records = [
            record.but(candidates=(), refused=())
            for record in self.records
            if wanted.get("user") in (None, record.user) and wanted.get("element") in (None, record.element)
        ]
        records.sort(key=lambda record: -(record.placed_at or 0.0))
        return tuple(records[: wanted.get("limit")])

    def placement(self, placement_id: str) -> PlacementRecord:
        self._called()
        for record in self.records:
            if record.placement_id == placement_id:
                return record
        raise NotFoundError(f"There is no placement {placement_id}.")

    def _called(self) -> None:
        self.check()
        self.acted_for.append(self.person)

    def send_accounts(self, homes: Mapping[str, str]) -> None:
        self.check()
        self.sent_accounts.append(dict(homes))

    def check(self) -> None:
        if self.down is not None:
            raise UnreachableError(self.down)

    def _canonical(self, requirement: Requirement) -> Requirement:
        kind = self.words.kind(requirement.kind)
        if kind is None:
            return requirement
        bound = to_canonical(requirement.bound, requirement.unit, kind)
        stated = requirement.stated_unit or (None if requirement.unit == kind.unit else requirement.unit)
        return requirement.bounded(bound).but(unit=kind.unit, **({"stated_unit": stated} if stated else {}))


def _resolved(requirement: Requirement, *, profile: str | None = None, **where: str) -> ResolvedRequirement:
    return ResolvedRequirement(**requirement, **where, **({"profile": profile} if profile else {}))


def _prediction(element: Element, requirement: Requirement) -> Prediction:
    if requirement.kind == "free-capacity":
        value = (element.free_bytes or 0.0) / 1e9
    elif "read" in requirement.kind:
        value = element.available.read_mb_s or 0.0
    else:
        value = element.available.write_mb_s or 0.0
    shortfall = max(0.0, 1.0 - value / requirement.bound) if requirement.bound else 0.0
    return Prediction(
        kind=requirement.kind,
        value=value,
        unit=requirement.unit,
        **{"maximum" if requirement.at_most else "minimum": requirement.bound},
        shortfall=shortfall,
    )


def _candidate(
    element: Element, predicted: tuple[Prediction, ...], wanted: tuple[Requirement, ...]
) -> Candidate:
    weights = [item.weight or 1.0 for item in wanted]
    squares = [
        weight * prediction.shortfall**2 for weight, prediction in zip(weights, predicted, strict=True)
    ]
    return Candidate(
        rank=0,
        element=element.id,
        distance=math.sqrt(sum(squares) / sum(weights)) if weights else 0.0,
        free_gb=None if element.free_bytes is None else element.free_bytes / 1e9,
        predicted=predicted,
        age_seconds=element.age_seconds,
        basis="monitor+ledger" if element.observed == "ok" else "static",
        available=Rates(read_mb_s=element.available.read_mb_s, write_mb_s=element.available.write_mb_s),
    )
