"""Decisions that nodes made, as they report them, and as the ledger keeps them to explain placements.

Pure.  A program chooses from its node's table, and the agent says afterwards what the choice was made from:
numbers, which become here the same candidates and refusals that a decision of the service has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ses_service.ledger.ordered_by import Compared, in_words
from ses_service.ledger.placement import Basis, Candidate, Prediction, Reason, Refusal
from ses_service.model.columns import ElementTable
from ses_service.model.entities import Element, Kind, ResolvedRequirement
from ses_service.model.server_links import link_notes
from ses_service.model.states import by_its_state


@dataclass(slots=True)
class Offered:
    """What an element offers: bytes per second and bytes; ``None``: unknown."""

    read: float | None = None
    write: float | None = None
    average_read: float | None = None
    average_write: float | None = None
    free: float | None = None


@dataclass(slots=True)
class Considered:
    """An element that could be chosen.  ``streams`` are those there, ``age`` is that of its sample.

    ``server_limit`` is what the link of its server leaves a stream, where that is less than it would give.
    ``own`` are those of ``streams`` that QStorMan placed, ``order`` what puts it after the one before it.
    """

    element: str
    distance: float
    offered: Offered
    streams: float
    age: float | None
    server_limit: float | None = None
    own: float | None = None
    order: int = 0


@dataclass(slots=True)
class Refused:
    """An element that could not, and which requirement it misses if that is why."""

    element: str
    reason: str
    requirement: int | None = None


@dataclass(frozen=True, slots=True)
class JobRank:
    """Which process of its job chose, of how many, and the element at which that made it begin."""

    number: int
    of: int | None
    begins_at: str


@dataclass(frozen=True, slots=True)
class NodeDecision:
    """What files of one user and application were chosen by, from one state of a node's table.

    ``age`` is that of the service's last answer, ``offline`` that none came.  ``refused_total`` counts
    refused elements that are not reported, too.  ``compared`` is how many candidates were; ``None``: all.
    """

    decided_at: float
    age: float | None
    offline: bool
    requirements: tuple[ResolvedRequirement, ...]
    expected_bytes: float | None
    expected_from: str | None
    candidates: tuple[Considered, ...]
    refused: tuple[Refused, ...]
    refused_total: int
    job_rank: JobRank | None = None
    compared: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the placements of a decision share."""

    requirements: tuple[ResolvedRequirement, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    notes: tuple[str, ...]
    ranks: Mapping[str, int]


class NodeDecisions:
    """The decisions one announcement reports, by number; each is explained once."""

    def __init__(self, decisions: Mapping[int, NodeDecision]) -> None:
        self._decisions = decisions
        self._explained: dict[int, Explanation] = {}

    def shared(
        self, number: int, node: str, table: ElementTable | None, excluded: Mapping[str, str]
    ) -> tuple[Explanation, str | None] | None:
        """Return what the files of a decision share, and where their expected size is from.

        ``None`` where the decision is not reported; see :func:`explanation`.
        """
        decision = self._decisions.get(number)
        if decision is None or table is None:
            return None
        explained = self._explained.get(number)
        if explained is None:
            explained = self._explained[number] = explanation(decision, node, table, excluded)
        return explained, decision.expected_from


NO_DECISIONS = NodeDecisions({})

_PREDICTED_AS = {
    Kind.CURRENT_READ_RATE: "read",
    Kind.AVERAGE_READ_RATE: "average_read",
    Kind.CURRENT_WRITE_RATE: "write",
    Kind.AVERAGE_WRITE_RATE: "average_write",
    Kind.FREE_CAPACITY: "free",
}


def explanation(
    decision: NodeDecision, node: str, table: ElementTable, excluded: Mapping[str, str] | None = None
) -> Explanation:
    """Return what a decision says; elements the site does not describe any more are left out.

    ``excluded`` are those to which no file of the node can go, with the reason.
    """
    named = [
        *(candidate.element for candidate in decision.candidates),
        *(refused.element for refused in decision.refused),
    ]
    elements = {name: table.elements[table.index[name]] for name in named if name in table.index}
    known = [candidate for candidate in decision.candidates if candidate.element in elements]
    compared = [
        _compared(considered, elements[considered.element], decision.requirements) for considered in known
    ]
    ordered = in_words([considered.order for considered in known], compared)
    candidates = tuple(
        _candidate(rank, considered, elements[considered.element], decision.requirements, after)
        for rank, (considered, after) in enumerate(zip(known, ordered, strict=True), 1)
    )
    refused = tuple(
        _refusal(
            refusal,
            elements[refusal.element],
            node,
            decision.requirements,
            (excluded or {}).get(refusal.element),
        )
        for refusal in decision.refused
        if refusal.element in elements
    )
    limited = [
        (elements[considered.element], considered.server_limit)
        for considered in known
        if considered.server_limit is not None
    ]
    return Explanation(
        decision.requirements,
        candidates,
        refused,
        (*_notes(decision, len(refused)), *link_notes(limited)),
        {candidate.element.id: candidate.rank for candidate in candidates},
    )


def predictions(
    requirements: Sequence[ResolvedRequirement], offered: Offered, element: Element
) -> tuple[Prediction, ...]:
    """Return what each kind asked for would get."""
    predicted = []
    for requirement in requirements:
        kind, bound = requirement.requirement.kind, requirement.requirement.bound
        name = _PREDICTED_AS.get(kind)
        value = dict(element.stated).get(kind) if name is None else getattr(offered, name)
        predicted.append(Prediction(kind, value, bound, shortfall(value, bound, kind.at_most)))
    return tuple(predicted)


def shortfall(value: float | None, bound: float, at_most: bool) -> float:
    """Return how much of a bound is missed, 0 to 1; see ``struct ses_core_verdict``."""
    if bound <= 0 and not at_most:
        return 0.0
    if value is None:
        return 1.0
    if at_most:
        return 1.0 - bound / value if value > bound else 0.0
    return 1.0 - value / bound if value < bound else 0.0


def _compared(
    considered: Considered, element: Element, requirements: Sequence[ResolvedRequirement]
) -> Compared:
    read, write = considered.offered.read, considered.offered.write
    wanted = (asked.requirement.kind for asked in requirements)
    share = write
    if any(kind in (Kind.CURRENT_READ_RATE, Kind.AVERAGE_READ_RATE) for kind in wanted):
        share = read * write / (read + write) if read and write else None
    foreign = None if considered.own is None else considered.streams - considered.own
    return Compared(
        considered.distance,
        share,
        considered.offered.free,
        considered.own,
        foreign,
        element.nominal_write_rate,
    )


def _candidate(
    rank: int,
    considered: Considered,
    element: Element,
    requirements: Sequence[ResolvedRequirement],
    after: tuple[str, str],
) -> Candidate:
    basis = Basis.LEDGER if considered.streams else Basis.STATIC
    return Candidate(
        rank=rank,
        element=element,
        distance=considered.distance,
        available_read=considered.offered.read,
        available_write=considered.offered.write,
        free=considered.offered.free,
        predicted=predictions(requirements, considered.offered, element),
        age=considered.age,
        basis=basis if considered.age is None else Basis.MONITOR,
        ordered_by=after[0],
        after=after[1],
    )


def _refusal(
    refused: Refused,
    element: Element,
    node: str,
    requirements: Sequence[ResolvedRequirement],
    why: str | None,
) -> Refusal:
    reason = Reason.UNREACHABLE if refused.reason == "not-usable-here" else Reason(refused.reason)
    if reason is Reason.UNREACHABLE and why is not None:
        return Refusal(refused.element, Reason.EXCLUDED, f"It is excluded on {node}: {why}.")
    return Refusal(refused.element, reason, _sentence(refused, element, reason, node, requirements))


def _sentence(
    refused: Refused, element: Element, reason: Reason, node: str, requirements: Sequence[ResolvedRequirement]
) -> str:
    match reason:
        case Reason.INACTIVE | Reason.DRAINING | Reason.DEGRADED:
            return by_its_state(reason, element)
        case Reason.EXCLUDED:
            return "The program, or its run, excludes it."
        case Reason.READ_ONLY:
            return "It takes no files: the site describes it as read-only, or the monitor sees it so."
        case Reason.NO_SPACE:
            return "Too little is free after what is held for open files."
        case Reason.UNREACHABLE:
            return f"Node {node} cannot make files on it at present."
    place = refused.requirement
    if place is None or not 0 <= place < len(requirements):
        return "It misses a hard requirement."
    asked = requirements[place].requirement
    bound = f"{asked.bound / asked.kind.size:.4g} {asked.kind.unit}"
    return f"It misses the hard {asked.kind.bound_name} of {bound} for {asked.kind.value}."


def _notes(decision: NodeDecision, listed: int) -> list[str]:
    notes = []
    if decision.offline:
        since = (
            "" if decision.age is None else f"; the last answer of the service was {decision.age:.1f} s old"
        )
        notes.append(f"The node was offline{since}.")
    if (rank := decision.job_rank) is not None:
        of = "" if rank.of is None else f" of {rank.of}"
        notes.append(f"Rank {rank.number}{of} of its job: of equals the first from {rank.begins_at} on.")
    if decision.compared is not None:
        notes.append(
            f"Only {decision.compared} of the nearest elements were compared, the first in the order of the "
            "node or rank: other nodes may have placed files of which it did not know yet."
        )
    if decision.refused_total > listed:
        notes.append(f"{decision.refused_total - listed} more elements were refused.")
    return notes
