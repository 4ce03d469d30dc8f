"""Candidates and refusals as people read them: numbers per element, and sentences."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import ses_core
from ses_core import Query, Records, Refusal

from ses_service.decision.question import Question, View
from ses_service.ledger.node_decisions import Offered, predictions
from ses_service.ledger.ordered_by import Compared, in_words
from ses_service.ledger.placement import Basis, Candidate, Placement, PlacementState, Prediction, Reason
from ses_service.ledger.placement import Refusal as RefusedElement
from ses_service.model.columns import Codes
from ses_service.model.entities import Element, Kind
from ses_service.model.kinds import PREDICTED
from ses_service.model.policies import Policies
from ses_service.model.server_links import link_notes
from ses_service.model.states import because, by_its_state

# What puts each candidate after the one before it, and what is compared of it, as of ``Query.rank_by``.
Why: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]

_OF_REFUSAL = {
    Refusal.INACTIVE: Reason.INACTIVE,
    Refusal.READ_ONLY: Reason.READ_ONLY,
    Refusal.DRAINING: Reason.DRAINING,
    Refusal.NO_ROOM: Reason.NO_SPACE,
    Refusal.REQUIREMENT: Reason.HARD_REQUIREMENT,
    Refusal.DEGRADED: Reason.DEGRADED,
}
_IN_FULL = 9999.5  # four digits of a larger number would need an exponent


def amount(kind: Kind, value: float | None) -> str:
    """Return a value of a kind in words, such as ``12.5 MB/s``."""
    if value is None:
        return "unknown"
    shown = value / kind.size
    return f"{shown:.0f} {kind.unit}" if abs(shown) >= _IN_FULL else f"{shown:.4g} {kind.unit}"


def known(value: float) -> float | None:
    """Return a number, or ``None`` for ``nan``."""
    return None if value != value else float(value)


def offers(view: View, rows: Codes) -> list[Offered]:
    """Return what a stream that starts now would get of some elements."""
    if not len(rows):
        return []
    predicted = view.rows.query.predict(rows).tolist()
    return [Offered(*[None if value != value else value for value in row]) for row in predicted]


def predicted_now(view: View, placement: Placement) -> tuple[Prediction, ...]:
    """Return what an open file would get from now on of each kind asked for, as a stream that is there."""
    row = view.table.index.get(placement.element.id)
    if row is None or placement.state is not PlacementState.OPEN:
        return ()
    others = view.rows.elements[[row]]
    if not placement.idle:
        for name in ("own", "server_streams"):
            others[name] = np.maximum(0.0, others[name] - 1.0)
    predicted = Query(others, ses_core.need(), view.rows.policy).predict().tolist()[0]
    offered = Offered(*[known(value) for value in predicted])
    return predictions(placement.requirements, offered, placement.element)


def limited_by_servers(view: View, rows: Codes) -> list[tuple[Element, float]]:
    """Return those of some rows whose server leaves a stream less than they would give, and how much."""
    elements = view.rows.elements
    limited = rows[~np.isnan(elements["server_rate"][rows])]
    if not len(limited):
        return []
    alone = elements[limited]
    left = alone["server_rate"] / (alone["server_streams"] + 1.0)
    alone["server_rate"] = np.nan
    offered = Query(alone, ses_core.need(), view.rows.policy).predict()
    slower = (left < offered["write"]) | (left < offered["read"])
    return [
        (view.table.elements[row], share)
        for row, share in zip(limited[slower].tolist(), left[slower].tolist(), strict=True)
    ]


def candidates(
    question: Question, view: View, verdicts: Records, order: Codes, why: Why, now: float
) -> tuple[Candidate, ...]:
    """Return the candidates of rows in their order, with ranks from 1."""
    elements = view.rows.elements  # its columns are taken first: copying whole rows costs ten times as much
    offered_by = offers(view, order)
    columns = zip(
        order.tolist(),
        offered_by,
        verdicts["distance"][order].tolist(),
        view.rows.ages(now, order).tolist(),
        elements["busy"][order].tolist(),
        elements["own"][order].tolist(),
        after_each_other(view, verdicts, order, offered_by, why),
        strict=True,
    )
    described = view.table.elements
    ranked = [
        Candidate(
            rank,
            described[row],
            distance,
            offered.read,
            offered.write,
            offered.free,
            predictions(question.requirements, offered, described[row]),
            None if age != age else age,
            Basis.MONITOR if busy == busy else Basis.LEDGER if own else Basis.STATIC,
            *ordered,
        )
        for rank, (row, offered, distance, age, busy, own, ordered) in enumerate(columns, 1)
    ]
    return tuple(ranked)


def after_each_other(
    view: View, verdicts: Records, order: Codes, offered_by: Sequence[Offered], why: Why
) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Yield what puts each row after the one before it, by name and in words, and what is compared of it."""
    elements = view.rows.elements
    columns = zip(
        verdicts["distance"][order].tolist(),
        (known(share) if share > 1.0 else None for share in verdicts["share"][order].tolist()),
        (offered.free for offered in offered_by),
        elements["own"][order].tolist(),
        elements["foreign"][order].tolist(),
        map(known, elements["write_rate"][order].tolist()),
        strict=True,
    )
    by, keys = why
    in_order = in_words(by.tolist(), [Compared(*column) for column in columns])
    return ((name, words, tuple(key)) for (name, words), key in zip(in_order, keys.tolist(), strict=True))


def refusals(
    question: Question, view: View, verdicts: Records, rows: Codes, policies: Policies
) -> tuple[RefusedElement, ...]:
    """Return the refusals of some rows with their sentences."""
    if not len(rows):
        return ()
    columns = zip(rows.tolist(), offers(view, rows), verdicts[rows].tolist(), strict=True)
    unmet = (ses_core.VERDICT.names or ()).index("unmet")
    refusal = (ses_core.VERDICT.names or ()).index("refusal")
    return tuple(
        _refusal(question, view, row, offered, Refusal(column[refusal]), column[unmet], policies)
        for row, offered, column in columns
    )


def _refusal(
    question: Question,
    view: View,
    row: int,
    offered: Offered,
    refusal: Refusal,
    unmet: int,
    policies: Policies,
) -> RefusedElement:
    element = view.table.elements[row]
    reason = _OF_REFUSAL.get(refusal) or _why_left_out(question, view, element)
    if reason is Reason.NO_SPACE:
        detail = _space_sentence(question, view, row, offered, policies)
    elif reason is Reason.HARD_REQUIREMENT:
        detail = " ".join((
            _hard_sentence(question, element, offered, unmet),
            *link_notes(limited_by_servers(view, np.array([row]))),
        ))  # fmt: skip
    else:
        detail = _sentence(question, view, row, reason)
    return RefusedElement(element.id, reason, detail)


def _why_left_out(question: Question, view: View, element: Element) -> Reason:
    if not question.is_about(element.storage_system, view.table):
        return Reason.WRONG_SYSTEM
    mounted = view.table.environment.node_access.get(question.subject.node or "")
    if mounted is not None and element.storage_system not in mounted:
        return Reason.UNREACHABLE
    return Reason.EXCLUDED


def _sentence(question: Question, view: View, row: int, reason: Reason) -> str:
    element, seen = view.table.elements[row], view.observations.by_row[row]
    match reason:
        case Reason.WRONG_SYSTEM:
            asked = question.storage_system or "storage where files are placed"
            return f"It belongs to {element.storage_system}; the request is about {asked}."
        case Reason.UNREACHABLE:
            return f"Node {question.subject.node} does not mount {element.storage_system}."
        case Reason.EXCLUDED:
            if element.id in question.exclude:
                return "The request excludes it."
            return f"It is {view.excluded[element.id].sentence(question.subject.node)}."
        case Reason.INACTIVE | Reason.DRAINING | Reason.DEGRADED:
            return by_its_state(reason, element)
    if seen is not None and seen.no_create:
        return "The monitor sees that an administrator stopped creates there."
    if seen is not None and seen.read_only:
        return "The monitor sees it mounted read-only."
    return f"The site describes it as read-only{because(element)}."


def _space_sentence(question: Question, view: View, row: int, offered: Offered, policies: Policies) -> str:
    kind = Kind.FREE_CAPACITY
    reserved = float(view.rows.elements["reserved"][row])
    held = f" after {amount(kind, reserved)} held for open placements" if reserved else ""
    needed = max(question.expected_bytes or 0.0, policies.min_free_bytes)
    return f"{amount(kind, offered.free)} are free{held}; {amount(kind, needed)} are needed."


def _hard_sentence(question: Question, element: Element, offered: Offered, unmet: int) -> str:
    asked = question.requirements[unmet]
    (prediction,) = predictions((asked,), offered, element)
    word = "predicted" if prediction.kind in PREDICTED else "stated"
    value, bound = amount(prediction.kind, prediction.value), amount(prediction.kind, prediction.bound)
    return f"Its {word} {prediction.kind.value} is {value}; the hard {prediction.kind.bound_name} is {bound}."
