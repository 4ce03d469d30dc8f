"""A site of any size in the project's vocabulary (ontology/qstorman.ttl), as Turtle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

PREFIXES = """\
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix : <https://w3id.org/qstorman/site/benchmark/> .
"""


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
        f":{system} a qsm:MergerfsUnion ; qsm:name {_text(system)} ; qsm:mountPoint {_text(mount_point)} .",
        ':server a qsm:Server ; qsm:name "server" .',
    ]
    parts += [
        f"""
:{element.name} a qsm:Branch ; qsm:name {_text(element.name)} ; qsm:target {_text(element.target)} ;
  qsm:elementOf :{system} ; qsm:servedBy :server ;
  qsm:capacity {_quantity(element.capacity, "BYTE")} ;
  qsm:nominalReadRate {_quantity(element.read_rate, "BYTE-PER-SEC")} ;
  qsm:nominalWriteRate {_quantity(element.write_rate, "BYTE-PER-SEC")} ."""
        for element in elements
    ]
    parts += [
        f"""
:{node_class.uplink} a qsm:NetworkLink ; qsm:name {_text(node_class.uplink)} ;
  qsm:linkRate {_quantity(node_class.uplink_rate, "BYTE-PER-SEC")} ."""
        for node_class in {node_class.uplink: node_class for node_class in classes}.values()
    ]
    parts += [
        f"""
:{node_class.name} a qsm:NodeClass ; qsm:name {_text(node_class.name)} ; qsm:nodes {_text(node_class.nodes)} ;
  qsm:linkRate {_quantity(node_class.link_rate, "BYTE-PER-SEC")} ; qsm:uplink :{node_class.uplink} ."""
        for node_class in classes
    ]
    return "\n".join(parts) + "\n"


def _text(value: str) -> str:
    """The value as a Turtle string: JSON escapes what Turtle does, the same way."""
    return json.dumps(value, ensure_ascii=False)


def _quantity(value: float, unit: str) -> str:
    return f"[ a qudt:QuantityValue ; qudt:numericValue {value:.6e} ; qudt:hasUnit unit:{unit} ]"
