"""Candidates and refusals as people read them: numbers per element, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ses_service.columns import Floats
from ses_service.evaluation import Offers
from ses_service.filters import REASONS, bytes_needed
from ses_service.kinds import PREDICTED
from ses_service.model import Element, Kind, Requirement, Strictness
from ses_service.placement import Basis, Candidate, Choice, Prediction, Reason, Refusal
from ses_service.question import Question

_Facts: TypeAlias = tuple[
    int,
    Element,
    float,
    float | None,
    float | None,
    float | None,
    tuple[Prediction, ...],
    float | None,
    Basis,
]


def amount(kind: Kind, value: float | None) -> str:
    """Return a value of a kind in words, such as ``12.5 MB/s``."""
    return "unknown" if value is None else f"{value / kind.size:.4g} {kind.unit}"


def known(value: float) -> float | None:
    """Return a number, or ``None`` for ``nan``."""
    return None if np.isnan(value) else float(value)


class Sheet:
    """The numbers of some rows as people read them, taken out of the columns once."""

    def __init__(self, question: Question, offers: Offers) -> None:
        wanted = question.wanted
        self._elements = offers.view.table.elements
        self._rows: list[int] = offers.rows.tolist()
        self._asked: list[tuple[Kind, float, list[float | None], list[float]]] = [
            (one.kind, one.bound, _listed(offers.value(one.kind)), offers.shortfall(one).tolist())
            for one in wanted
        ]
        self._distance = offers.distance(wanted).tolist()
        self._read = _listed(offers.value(Kind.CURRENT_READ_RATE))
        self._write = _listed(offers.value(Kind.CURRENT_WRITE_RATE))
        self._free = _listed(offers.value(Kind.FREE_CAPACITY))
        self._ages = _listed(offers.ages())
        self._fresh = offers.fresh.tolist()
        self._carried = offers.counts.open_now.tolist()

    def candidate(self, place: int, rank: int) -> Candidate:
        """Return the candidate at one place of the rows."""
        return Candidate(*self._facts(place, rank))

    def choice(self, place: int, rank: int, notes: tuple[str, ...]) -> Choice:
        """Return the same as chosen for a file on its element alone."""
        return Choice(*self._facts(place, rank), (self.element(place),), notes)

    def predictions(self, place: int) -> tuple[Prediction, ...]:
        """Return what each kind asked for would get at one place of the rows."""
        return tuple(
            [
                Prediction(kind, values[place], bound, shortfalls[place])
                for kind, bound, values, shortfalls in self._asked
            ]
        )

    def element(self, place: int) -> Element:
        """Return the element at one place of the rows."""
        return self._elements[self._rows[place]]

    def _facts(self, place: int, rank: int) -> _Facts:
        basis = Basis.LEDGER if self._carried[place] else Basis.STATIC
        return (
            rank,
            self.element(place),
            self._distance[place],
            self._read[place],
            self._write[place],
            self._free[place],
            self.predictions(place),
            self._ages[place],
            Basis.MONITOR if self._fresh[place] else basis,
        )


def choice(
    candidate: Candidate,
    wanted: Sequence[Requirement],
    stripes: Sequence[tuple[Sheet, int]],
    notes: tuple[str, ...] = (),
) -> Choice:
    """Return the candidate as chosen for a file on these stripes, given by sheet and place.

    Without stripes the file lies on the candidate's element alone.
    """
    predicted, distance = candidate.predicted, candidate.distance
    if len(stripes) > 1:
        each = zip(*(sheet.predictions(place) for sheet, place in stripes), strict=True)
        predicted = tuple(_together(parts) for parts in each)
        weights = sum(one.weight for one in wanted)
        squares = sum(one.weight * part.shortfall**2 for one, part in zip(wanted, predicted, strict=True))
        distance = (squares / weights) ** 0.5 if weights else 0.0
    return Choice(
        candidate.rank,
        candidate.element,
        distance,
        candidate.available_read,
        candidate.available_write,
        candidate.free,
        predicted,
        candidate.age,
        candidate.basis,
        tuple(sheet.element(place) for sheet, place in stripes) or (candidate.element,),
        notes,
    )


def _together(parts: Sequence[Prediction]) -> Prediction:
    """Return what a file gets of stripes that are filled alike: the smallest part from each.

    What the site states of elements does not add up: there the worst of them counts.
    """
    kind, bound = parts[0].kind, parts[0].bound
    values = [one.value for one in parts if one.value is not None]
    if kind not in PREDICTED:
        worst = max(parts, key=lambda one: one.shortfall)
        return Prediction(kind, worst.value, bound, worst.shortfall)
    value = min(values) * len(parts) if len(values) == len(parts) else None
    if bound <= 0:
        return Prediction(kind, value, bound, 0.0)
    return Prediction(kind, value, bound, 1.0 if value is None else max(0.0, 1.0 - value / bound))


def candidates(question: Question, offers: Offers) -> tuple[Candidate, ...]:
    """Return the candidates of rows in their order, with ranks from 1."""
    sheet = Sheet(question, offers)
    return tuple(sheet.candidate(place, place + 1) for place in range(len(offers.rows)))


def aged(found: Sequence[Candidate], ages: Floats) -> tuple[Candidate, ...]:
    """Return the same candidates with observations of these ages."""
    return tuple(
        [
            Candidate(
                one.rank,
                one.element,
                one.distance,
                one.available_read,
                one.available_write,
                one.free,
                one.predicted,
                age,
                one.basis,
            )
            for one, age in zip(found, _listed(ages), strict=True)
        ]
    )


def refusal(question: Question, offers: Offers, place: int, code: int) -> Refusal:
    """Return the refusal of one row with its sentence."""
    element = offers.view.table.elements[offers.rows[place]]
    reason = REASONS[code]
    return Refusal(element.id, reason, _sentence(question, offers, place, reason))


def _sentence(question: Question, offers: Offers, place: int, reason: Reason) -> str:
    element = offers.view.table.elements[offers.rows[place]]
    match reason:
        case Reason.WRONG_SYSTEM:
            return f"It belongs to {element.storage_system}; the request is about {question.storage_system}."
        case Reason.UNREACHABLE:
            return f"Node {question.subject.node} does not mount {element.storage_system}."
        case Reason.EXCLUDED:
            return "The request excludes it."
        case Reason.INACTIVE:
            return "The site describes it as inactive."
        case Reason.DRAINING:
            return "The site is emptying it; no file may be added."
        case Reason.DEGRADED:
            return "It is degraded, and elements in good order are left."
        case Reason.READ_ONLY:
            seen = offers.view.observations.by_row[offers.rows[place]]
            if seen is not None and seen.no_create:
                return "The monitor sees that it takes no files: an administrator said so."
            if seen is not None and seen.read_only:
                return "The monitor sees it mounted read-only."
            return "The site describes it as read-only."
        case Reason.NO_SPACE:
            return _space_sentence(question, offers, place)
        case Reason.HARD_REQUIREMENT:
            return _hard_sentence(question.wanted, offers, place)


def _space_sentence(question: Question, offers: Offers, place: int) -> str:
    kind = Kind.FREE_CAPACITY
    free = amount(kind, known(offers.value(kind)[place]))
    reserved = float(offers.counts.reserved[place])
    held = f" after {amount(kind, reserved)} held for open placements" if reserved else ""
    return f"{free} are free{held}; {amount(kind, bytes_needed(question, offers.policies))} are needed."


def _hard_sentence(wanted: Sequence[Requirement], offers: Offers, place: int) -> str:
    for one in wanted:
        if one.strictness is Strictness.HARD and offers.shortfall(one)[place] > 0:
            value = amount(one.kind, known(offers.value(one.kind)[place]))
            needed = amount(one.kind, one.bound)
            word = "predicted" if one.kind in PREDICTED else "stated"
            limit = "maximum" if one.kind.at_most else "minimum"
            return f"Its {word} {one.kind.value} is {value}; the hard {limit} is {needed}."
    return "It misses a hard requirement."


def _listed(column: Floats) -> list[float | None]:
    return [None if value != value else value for value in column.tolist()]
