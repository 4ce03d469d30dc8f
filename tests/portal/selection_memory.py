"""A selection service inside the process: for tests and for looking at pages.

Keeps the promises of :class:`ses_webface.selection_client.SelectionService` on a site given to
it, with revisions, conflicts and levels as the real one has them.  It does NOT decide like the
real one: no ledger, no load model; an element's rate is the number it was made with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import Lock

from files_memory import FilesInMemory
from history_memory import HistoryInMemory
from ses_webface.errors import NotFoundError, RevisionConflictError, ServiceUnavailableError
from ses_webface.moments import applies
from ses_webface.quantities import to_canonical
from ses_webface.selection_client import PlacementFilter
from ses_webface.selection_model import (
    Candidate,
    Effective,
    Element,
    Placement,
    Prediction,
    Refusal,
    Requirement,
    RequirementSet,
    Resolved,
    Selection,
    Source,
    Storage,
    Subject,
)
from ses_webface.vocabulary import Kind, Vocabulary
from workloads_memory import WorkloadsInMemory

_LEVELS = ("application", "user", "vo", "site")
_RATE = (("kB/s", 1e-3), ("MB/s", 1.0), ("MiB/s", 1.048576), ("GB/s", 1e3), ("GiB/s", 1073.741824))
_SPACE = (("MB", 1e-3), ("GB", 1.0), ("GiB", 1.073741824), ("TB", 1e3), ("TiB", 1099.511627776))
KINDS = (
    Kind("current-read-rate", "current read rate", "What one more reader would get now.", "MB/s", _RATE),
    Kind("average-read-rate", "average read rate", "The same over a long window.", "MB/s", _RATE),
    Kind("current-write-rate", "current write rate", "What one more writer would get now.", "MB/s", _RATE),
    Kind("average-write-rate", "average write rate", "The same over a long window.", "MB/s", _RATE),
    Kind("free-capacity", "free capacity", "What an element can still take in.", "GB", _SPACE),
)


class InMemorySelectionService(FilesInMemory, HistoryInMemory, WorkloadsInMemory):
    """A site of ``elements``; ``home_vo`` maps users to VOs; ``clock`` gives seconds since the epoch.

    ``acted_for`` lists the person of every call, ``told`` what was told of accounts.  Set ``down`` to a
    sentence and every call fails with it until it is None again.
    """

    def __init__(
        self,
        elements: Iterable[Element] = (),
        *,
        home_vo: dict[str, str] | None = None,
        placements: Iterable[Placement] = (),
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.elements = list(elements)
        self.home_vo = dict(home_vo or {})
        self.records = list(placements)
        self.words = Vocabulary(KINDS)
        self.down: str | None = None
        self.acted_for: list[str] = []
        self.told: list[dict[str, str]] = []
        self._clock = clock
        self._sets: dict[tuple[str, str], RequirementSet] = {}
        self._lock = Lock()
        super().__init__()

    def requirement_set(self, level: str, name: str, *, acting: str) -> RequirementSet:
        """See SelectionService."""
        self._called(acting)
        return self._sets.get((level, name), RequirementSet(level, name))

    def requirement_sets(self, user: str, *, acting: str) -> tuple[RequirementSet, ...]:
        """See SelectionService."""
        self._called(acting)
        vo = self.home_vo.get(user)
        return tuple(
            found
            for _key, found in sorted(self._sets.items())
            if (found.requirements or found.profile)
            and (
                (found.level == "user" and found.name == user)
                or (found.level == "application" and found.name.startswith(f"{user}:"))
                or (found.level == "vo" and found.name == vo)
                or found.level == "site"
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
        acting: str,
    ) -> RequirementSet:
        """See SelectionService."""
        with self._lock:
            current = self.requirement_set(level, name, acting=acting)
            if current.revision != revision:
                raise RevisionConflictError(f"The set is at revision {current.revision}, not {revision}.")
            saved = RequirementSet(
                level,
                name,
                tuple(self._canonical(requirement) for requirement in requirements),
                revision + 1,
                self._clock(),
                acting,
                profile,
            )
            self._record(current, saved)
            self._sets[level, name] = saved
            return saved

    def vocabulary(self, *, acting: str) -> Vocabulary:
        """See SelectionService."""
        self._called(acting)
        return self.words

    def effective(self, subject: Subject, *, acting: str) -> Effective:
        """See SelectionService."""
        self._called(acting)
        vo = subject.vo or self.home_vo.get(subject.user)
        names = {
            "application": f"{subject.user}:{subject.application}" if subject.application else None,
            "user": subject.user,
            "vo": vo,
            "site": "default",
        }
        found: dict[str, Resolved] = {}
        for level in _LEVELS:
            name = names[level]
            stated = self._sets.get((level, name)) if name else None
            if stated is None:
                continue
            for requirement in (*stated.requirements, *self.words.required_by(stated.profile)):
                if applies(requirement, self._clock()):
                    found.setdefault(requirement.kind, Resolved(requirement, level, stated.name))
        resolved = tuple(found[kind.name] for kind in self.words.kinds if kind.name in found)
        return Effective(replace(subject, vo=vo), resolved)

    def select(self, subject: Subject, requirements: tuple[Requirement, ...], *, acting: str) -> Selection:
        """See SelectionService."""
        resolved = {
            item.requirement.kind: item for item in self.effective(subject, acting=acting).requirements
        }
        for requirement in requirements:
            resolved[requirement.kind] = Resolved(self._canonical(requirement), "explicit", "")
        wanted = tuple(resolved.values())
        candidates: list[Candidate] = []
        refused: list[Refusal] = []
        for element in self.elements:
            predicted = tuple(_prediction(element, item.requirement) for item in wanted)
            missed = next(
                (
                    prediction
                    for prediction, item in zip(predicted, wanted, strict=True)
                    if item.requirement.strictness == "hard" and prediction.shortfall > 0
                ),
                None,
            )
            if element.state != "active":
                refused.append(Refusal(element.id, element.state, f"{element.label} is {element.state}."))
            elif missed:
                detail = f"{missed.value:g} {missed.unit} is below the hard minimum of {missed.minimum:g}."
                refused.append(Refusal(element.id, "hard-requirement", detail))
            else:
                candidates.append(_candidate(element, predicted, wanted))
        candidates.sort(key=lambda one: (round(one.distance / 0.02), -(one.write_mb_s or 0.0), one.element))
        ranked = tuple(
            replace(one, rank=rank) for one, rank in zip(candidates, itertools.count(1), strict=False)
        )
        return Selection(self._clock(), wanted, ranked[:10], tuple(refused), ())

    def storage(self, *, acting: str) -> Storage:
        """See SelectionService."""
        self._called(acting)
        sources = (Source("monitor", True, 0.4), Source("knowledge base", True, 2.0))
        return Storage(self._clock(), tuple(self.elements), sources)

    def placements(self, wanted: PlacementFilter, *, acting: str) -> tuple[Placement, ...]:
        """See SelectionService."""
        self._called(acting)
        found = [
            replace(record, candidates=(), refused=())
            for record in self.records
            if wanted.user in (None, record.subject.user)
            and wanted.path in (None, record.path)
            and wanted.element in (None, record.element)
            and wanted.state in (None, record.state)
        ]
        found.sort(key=lambda record: -(record.booked_at or 0.0))
        return tuple(found[: wanted.limit])

    def placement(self, placement_id: str, *, acting: str) -> Placement:
        """See SelectionService."""
        self._called(acting)
        for record in self.records:
            if record.id == placement_id:
                return record
        raise NotFoundError(f"There is no placement {placement_id}.")

    def _called(self, acting: str) -> None:
        self.check()
        self.acted_for.append(acting)

    def tell_accounts(self, homes: Mapping[str, str]) -> None:
        """See SelectionService."""
        self.check()
        self.told.append(dict(homes))

    def check(self) -> None:
        """See SelectionService."""
        if self.down is not None:
            raise ServiceUnavailableError(self.down)

    def _canonical(self, requirement: Requirement) -> Requirement:
        kind = self.words.kind(requirement.kind)
        if kind is None:
            return requirement
        minimum = to_canonical(requirement.minimum, requirement.unit, kind)
        return replace(requirement, minimum=minimum, unit=kind.unit)


def _prediction(element: Element, requirement: Requirement) -> Prediction:
    if requirement.kind == "free-capacity":
        value = (element.free_bytes or 0.0) / 1e9
    elif "read" in requirement.kind:
        value = element.read_mb_s or 0.0
    else:
        value = element.write_mb_s or 0.0
    shortfall = max(0.0, 1.0 - value / requirement.minimum) if requirement.minimum else 0.0
    return Prediction(requirement.kind, value, requirement.unit, requirement.minimum, shortfall)


def _candidate(
    element: Element, predicted: tuple[Prediction, ...], wanted: tuple[Resolved, ...]
) -> Candidate:
    weights = [item.requirement.weight for item in wanted]
    squares = [weight * one.shortfall**2 for weight, one in zip(weights, predicted, strict=True)]
    return Candidate(
        rank=0,
        element=element.id,
        distance=math.sqrt(sum(squares) / sum(weights)) if weights else 0.0,
        read_mb_s=element.read_mb_s,
        write_mb_s=element.write_mb_s,
        free_gb=None if element.free_bytes is None else element.free_bytes / 1e9,
        predicted=predicted,
        age_seconds=element.age_seconds,
        basis="monitor+ledger",
    )
