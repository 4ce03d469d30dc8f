"""Answers about nodes, in the shapes of the contract."""

from collections.abc import Iterable

from ses_client.messages import nodes

from ses_service.api.render import (
    GB,
    MB,
    PLACES,
    in_units,
    predictions,
    rates,
    resolved,
)
from ses_service.decision.nodes import NodeCandidate, NodeDecision, NodeRefusal
from ses_service.knowledge.hostlist import folded
from ses_service.ledger.exclusions import Exclusion
from ses_service.ledger.nodes import Node
from ses_service.model.nodes import NodeCalibration
from ses_service.security.tokens import Principal, Role
from ses_service.state.node_access import ClassNow

_FOLDED = 2000  # names that are folded in an answer; folding more would keep others waiting


def node(node: Node, open_placements: int, reader: Principal) -> nodes.HeardNode:
    """Return a node whose agent reports, or did."""
    return nodes.HeardNode.like(
        node,
        node=node.name,
        silent_after=node.until,
        version=node.version or None,
        open_placements=open_placements,
        stalled=stalled(node),
        excluded=all_excluded(node, reader),
    )


def stalled(node: Node) -> list[nodes.StalledThread]:
    """Return the threads of a node's agent that do not go on."""
    return [
        nodes.StalledThread(node=node.name, thread=thread, since=round(since))
        for thread, since in sorted(node.stalled.items())
    ]


def all_excluded(node: Node, reader: Principal) -> list[nodes.ExcludedElement]:
    """Return the elements to which no file of a node, or of a user there, can go, as far as one may read."""
    return excluded([(node.name, each) for each in node.exclusions], reader)


def excluded(exclusions: Iterable[tuple[str, Exclusion]], reader: Principal) -> list[nodes.ExcludedElement]:
    """Return what nodes exclude; people read of their own files alone."""
    return [
        nodes.ExcludedElement.like(exclusion, node=node)
        for node, exclusion in exclusions
        if reader.role is Role.ADMIN or reader.user is None or exclusion.user in (None, reader.user)
    ]


def node_selection(decision: NodeDecision, notes: Iterable[str]) -> nodes.NodeSelection:
    """Return a ranking of nodes; ``notes`` are added to its own."""
    return nodes.NodeSelection.like(
        decision,
        requirements=resolved(decision.requirements),
        candidates=[_candidate(candidate) for candidate in decision.candidates],
        refused=[_refusal(refusal) for refusal in decision.refused],
        notes=[*notes, *decision.notes],
    )


def node_class(node_class: ClassNow, reader: Principal) -> nodes.NodeClass:
    """Return a class of nodes as it is now, as far as one may read it."""
    described = node_class.described
    uplink = described.uplink
    return nodes.NodeClass(
        node_class=described.name or None,
        nodes=described.hosts or _folded(described.nodes),
        count=len(described.nodes),
        heard=node_class.heard,
        open_files=node_class.open_files,
        storage_systems=None if described.systems is None else sorted(described.systems),
        link_mb_s=in_units(described.link_rate, MB),
        uplink=uplink.name if uplink else None,
        uplink_mb_s=in_units(uplink.rate, MB) if uplink else None,
        holds=sorted(described.holds),
        stalled=[thread for node in node_class.stalled for thread in stalled(node)],
        excluded=[element for node in node_class.excluding for element in all_excluded(node, reader)],
    )


def calibration(calibration: NodeCalibration) -> nodes.NodeCalibration:
    """Return what a node was measured to give."""
    return nodes.NodeCalibration.like(
        calibration,
        calibrated_at=calibration.at,
        core_copy_mb_s=in_units(calibration.core_copy_rate, MB),
        memory_mb_s=in_units(calibration.memory_rate, MB),
        link_mb_s=in_units(calibration.link_rate, MB),
    )


def _candidate(candidate: NodeCandidate) -> nodes.RankedNode:
    return nodes.RankedNode.like(
        candidate,
        element=candidate.element.id,
        storage_system=candidate.element.storage_system,
        distance=round(candidate.distance, PLACES),
        available=rates(candidate.read, candidate.write),
        free_gb=in_units(candidate.free, GB),
        predicted=predictions(candidate.predicted),
    )


def _refusal(refusal: NodeRefusal) -> nodes.RefusedNodes:
    names = refusal.hosts or _folded(refusal.nodes)
    return nodes.RefusedNodes.like(refusal, nodes=names, count=len(refusal.nodes))


def _folded(names: tuple[str, ...]) -> str:
    text = folded(names[:_FOLDED])
    return text if len(names) <= _FOLDED else f"{text},..."
