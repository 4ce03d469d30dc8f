"""The filter: which elements are out, and the first reason why.

Does not say the reason in words (:mod:`ses_service.explain` does), and does not refuse for data
that are old: those elements stay, judged by static facts.
"""

from __future__ import annotations

import numpy as np

from ses_service.columns import STATES, Bools, Codes
from ses_service.evaluation import Offers
from ses_service.model import ElementState, Kind, Strictness
from ses_service.placement import Reason
from ses_service.policies import Policies
from ses_service.question import Question

REASONS = tuple(Reason)
ACCEPTED = -1

_STATE_REASONS = {
    ElementState.INACTIVE: Reason.INACTIVE,
    ElementState.READ_ONLY: Reason.READ_ONLY,
    ElementState.DRAINING: Reason.DRAINING,
}
_BY_STATE = np.array(
    [REASONS.index(_STATE_REASONS[state]) if state in _STATE_REASONS else ACCEPTED for state in STATES]
)


def bytes_needed(question: Question, policies: Policies) -> float:
    """Return the free bytes an element must have to be considered at all."""
    return max(question.expected_bytes or 0.0, policies.min_free_bytes)


def refusals(question: Question, offers: Offers) -> Codes:
    """Return per row ``ACCEPTED`` or the place of the first reason in ``REASONS``.

    A degraded element is refused for that only while another element is left.
    """
    return with_degraded_refused(earlier_reasons(question, offers), offers)


def with_degraded_refused(codes: Codes, offers: Offers) -> Codes:
    """Return the codes with degraded elements refused, unless nothing else is left."""
    described = offers.take(offers.view.table.state) == STATES.index(ElementState.DEGRADED)
    degraded = described | offers.take(offers.view.observations.degraded)
    accepted = codes == ACCEPTED
    if not (accepted & ~degraded).any():
        return codes
    return np.where(accepted & degraded, REASONS.index(Reason.DEGRADED), codes)


def earlier_reasons(question: Question, offers: Offers) -> Codes:
    """Return the codes of each row by itself: for every reason but that others are in better order."""
    table, rows = offers.view.table, offers.rows
    codes = np.full(len(rows), ACCEPTED, dtype=np.int64)

    def refuse(which: Bools, reason: Reason) -> None:
        if which.any():
            codes[which & (codes == ACCEPTED)] = REASONS.index(reason)

    if question.storage_system is not None:
        refuse(~_in_systems(offers, frozenset({question.storage_system})), Reason.WRONG_SYSTEM)
    node = question.subject.node
    mounted = table.environment.node_access.get(node) if node is not None else None
    if mounted is not None:
        refuse(~_in_systems(offers, mounted), Reason.UNREACHABLE)
    if question.exclude:
        excluded = [table.index[name] for name in question.exclude if name in table.index]
        refuse(np.isin(rows, excluded), Reason.EXCLUDED)
    np.copyto(codes, _BY_STATE[offers.take(table.state)], where=codes == ACCEPTED)
    refuse(offers.take(offers.view.observations.closed), Reason.READ_ONLY)
    refuse(offers.value(Kind.FREE_CAPACITY) < bytes_needed(question, offers.policies), Reason.NO_SPACE)
    for requirement in question.wanted:
        if requirement.strictness is Strictness.HARD:
            refuse(offers.shortfall(requirement) > 0, Reason.HARD_REQUIREMENT)
    return codes


def _in_systems(offers: Offers, names: frozenset[str]) -> Bools:
    table = offers.view.table
    wanted = np.array([name in names for name in table.system_names], dtype=np.bool_)
    return wanted[offers.take(table.system)]
