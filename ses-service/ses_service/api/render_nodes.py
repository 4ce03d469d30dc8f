"""Answers about nodes, in the shapes of the contract."""

from __future__ import annotations

from collections.abc import Iterable

from ses_client.messages import nodes

from ses_service.api.render import (
    GB,
    MB,
    PLACES,
    all_excluded,
    in_units,
    predictions,
    rates,
    resolved,
    stalled,
)
from ses_service.decision.nodes import NodeCandidate, NodeDecision, NodeRefusal
from ses_service.knowledge.hostlist import folded
from ses_service.model.nodes import NodeCalibration
from ses_service.security.tokens import Principal
from ses_service.state.node_access import ClassNow

_FOLDED = 2000  # names that are folded in an answer; folding more would keep others waiting


def node_selection(decision: NodeDecision, notes: Iterable[str]) -> nodes.NodeSelection:
    """Return a ranking of nodes; ``notes`` are added to its own."""
    return nodes.NodeSelection(
        decided_at=decision.decided_at,
        requirements=resolved(decision.requirements),
        expected_bytes=decision.expected_bytes,
        expected_from=decision.expected_from,
        total=decision.total,
        candidates=[_candidate(one) for one in decision.candidates],
        refused=[_refusal(one) for one in decision.refused],
        notes=[*notes, *decision.notes],
    )


def node_class(one: ClassNow, reader: Principal) -> nodes.NodeClass:
    """Return a class of nodes as it is now, as far as one may read it."""
    described = one.described
    uplink = described.uplink
    return nodes.NodeClass(
        node_class=described.name or None,
        nodes=described.hosts or _folded(described.nodes),
        count=len(described.nodes),
        heard=one.heard,
        open_files=one.open_files,
        storage_systems=None if described.systems is None else sorted(described.systems),
        link_mb_s=in_units(described.link_rate, MB),
        uplink=uplink.name if uplink else None,
        uplink_mb_s=in_units(uplink.rate, MB) if uplink else None,
        holds=sorted(described.holds),
        stalled=[thread for node in one.stalled for thread in stalled(node)],
        excluded=[element for node in one.excluding for element in all_excluded(node, reader)],
    )


def calibration(one: NodeCalibration) -> nodes.NodeCalibration:
    """Return what a node was measured to give."""
    return nodes.NodeCalibration(
        node=one.node,
        calibrated_at=one.at,
        method=one.method,
        cores=one.cores,
        core_copy_mb_s=in_units(one.core_copy_rate, MB),
        memory_mb_s=in_units(one.memory_rate, MB),
        link_mb_s=in_units(one.link_rate, MB),
    )


def _candidate(one: NodeCandidate) -> nodes.RankedNode:
    return nodes.RankedNode(
        rank=one.rank,
        node=one.node,
        node_class=one.node_class,
        element=one.element.id,
        storage_system=one.element.storage_system,
        distance=round(one.distance, PLACES),
        available=rates(one.read, one.write),
        free_gb=in_units(one.free, GB),
        predicted=predictions(one.predicted),
        limited_by=one.limited_by.value,
        open_files=one.open_files,
    )


def _refusal(one: NodeRefusal) -> nodes.RefusedNodes:
    return nodes.RefusedNodes(
        nodes=one.hosts or _folded(one.nodes),
        count=len(one.nodes),
        node_class=one.node_class,
        reason=one.reason.value,
        detail=one.detail,
    )


def _folded(names: tuple[str, ...]) -> str:
    text = folded(names[:_FOLDED])
    return text if len(names) <= _FOLDED else f"{text},..."
