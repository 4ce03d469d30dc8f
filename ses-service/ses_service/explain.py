"""Candidates and refusals as people read them: numbers per element, and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ses_service.columns import Floats
from ses_service.evaluation import Offers
from ses_service.filters import REASONS, bytes_needed
from ses_service.model import Kind, Requirement, Strictness
from ses_service.placement import Basis, Candidate, Prediction, Reason, Refusal
from ses_service.question import Question
from ses_service.units import canonical_unit, from_base


def amount(kind: Kind, value: float | None) -> str:
    """Return a value of a kind in words, such as ``12.5 MB/s``."""
    return "unknown" if value is None else f"{from_base(value, kind):.4g} {canonical_unit(kind)}"


def known(value: float) -> float | None:
    """Return a number, or ``None`` for ``nan``."""
    return None if np.isnan(value) else float(value)


def candidates(question: Question, offers: Offers) -> tuple[Candidate, ...]:
    """Return the candidates of rows in their order, with ranks from 1."""
    wanted = question.wanted
    columns = [_listed(offers.value(one.kind)) for one in wanted]
    shortfalls = [offers.shortfall(one).tolist() for one in wanted]
    distance = offers.distance(wanted).tolist()
    read = _listed(offers.value(Kind.CURRENT_READ_RATE))
    write = _listed(offers.value(Kind.CURRENT_WRITE_RATE))
    free = _listed(offers.value(Kind.FREE_CAPACITY))
    ages = _listed(offers.ages())
    fresh = offers.fresh.tolist()
    carried = offers.take(offers.view.counts.open_now).tolist()
    elements = offers.view.table.elements
    return tuple(
        Candidate(
            rank=place + 1,
            element=elements[row],
            distance=distance[place],
            available_read=read[place],
            available_write=write[place],
            free=free[place],
            predicted=tuple(
                Prediction(one.kind, columns[which][place], one.minimum, shortfalls[which][place])
                for which, one in enumerate(wanted)
            ),
            age=ages[place],
            basis=Basis.MONITOR if fresh[place] else Basis.LEDGER if carried[place] else Basis.STATIC,
        )
        for place, row in enumerate(offers.rows.tolist())
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
            seen = offers.view.observations.read_only[offers.rows[place]]
            return "The monitor sees it mounted read-only." if seen else "The site describes it as read-only."
        case Reason.NO_SPACE:
            return _space_sentence(question, offers, place)
        case Reason.HARD_REQUIREMENT:
            return _hard_sentence(question.wanted, offers, place)


def _space_sentence(question: Question, offers: Offers, place: int) -> str:
    kind = Kind.FREE_CAPACITY
    free = amount(kind, known(offers.value(kind)[place]))
    reserved = float(offers.view.counts.reserved[offers.rows[place]])
    held = f" after {amount(kind, reserved)} held for open placements" if reserved else ""
    return f"{free} are free{held}; {amount(kind, bytes_needed(question, offers.policies))} are needed."


def _hard_sentence(wanted: Sequence[Requirement], offers: Offers, place: int) -> str:
    for one in wanted:
        if one.strictness is Strictness.HARD and offers.shortfall(one)[place] > 0:
            value = amount(one.kind, known(offers.value(one.kind)[place]))
            needed = amount(one.kind, one.minimum)
            return f"Its predicted {one.kind.value} is {value}; the hard minimum is {needed}."
    return "It misses a hard requirement."


def _listed(column: Floats) -> list[float | None]:
    return [None if value != value else value for value in column.tolist()]
