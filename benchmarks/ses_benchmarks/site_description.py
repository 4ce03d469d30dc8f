"""A site of any size in the project's vocabulary (ontology/qstorman.ttl), as Turtle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ses.literal import PREFIXES, literal, quantity


@dataclass(frozen=True, slots=True)
class Facts:
    """One element: rates in bytes per second, capacity in bytes, target the branch's directory."""

    name: str
    target: str
    read_rate: float
    write_rate: float
    capacity: float


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One class of nodes, as Slurm writes them, and the link they share; rates in bytes per second."""

    name: str
    nodes: str
    link_rate: float
    uplink: str
    uplink_rate: float


def describe(
    system: str, mount_point: str, elements: Sequence[Facts], classes: Sequence[NodeFacts] = ()
) -> str:
    """One mergerfs storage system with these elements, all on one server, and classes of nodes."""
    parts = [
        PREFIXES,
        "@prefix : <https://w3id.org/qstorman/site/benchmark/> .",
        f":{system} a qsm:MergerfsUnion ; qsm:name {literal(system)} ;",
        f"  qsm:mountPoint {literal(mount_point)} .",
        ':server a qsm:Server ; qsm:name "server" .',
    ]
    parts += [
        f"""
:{element.name} a qsm:Branch ; qsm:name {literal(element.name)} ; qsm:target {literal(element.target)} ;
  qsm:elementOf :{system} ; qsm:servedBy :server ;
  qsm:capacity {quantity(element.capacity, "BYTE")} ;
  qsm:nominalReadRate {quantity(element.read_rate, "BYTE-PER-SEC")} ;
  qsm:nominalWriteRate {quantity(element.write_rate, "BYTE-PER-SEC")} ."""
        for element in elements
    ]
    parts += [
        f"""
:{node_class.uplink} a qsm:NetworkLink ; qsm:name {literal(node_class.uplink)} ;
  qsm:linkRate {quantity(node_class.uplink_rate, "BYTE-PER-SEC")} ."""
        for node_class in {node_class.uplink: node_class for node_class in classes}.values()
    ]
    parts += [
        f"""
:{node_class.name} a qsm:NodeClass ; qsm:name {literal(node_class.name)} ; qsm:uplink :{node_class.uplink} ;
  qsm:nodes {literal(node_class.nodes)} ; qsm:linkRate {quantity(node_class.link_rate, "BYTE-PER-SEC")} ."""
        for node_class in classes
    ]
    return "\n".join(parts) + "\n"
