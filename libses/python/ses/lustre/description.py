"""A Lustre file system as a description of the site in Turtle, for the knowledge base.

Says what was seen and nothing else: rates, tiers of disks and labels are for an administrator to add.
"""

from __future__ import annotations

from ses.literal import literal
from ses.lustre.targets import FileSystem, Target

_HEAD = """\
# {name_literal}, as seen from a client at {mount_literal}.  Add nominal rates
# (qsm:nominalReadRate, qsm:nominalWriteRate) where they are known, and what links of servers carry
# (qsm:linkRate); see docs/site.md.
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix : <https://w3id.org/qstorman/site/{name}/> .

:{name} a qsm:LustreFileSystem ;
    rdfs:label {label_literal}@en ;
    qsm:name {name_literal} ;
    qsm:mountPoint {mount_literal} .
"""
_UNKNOWN_SERVER = "unknown"


def turtle(system: FileSystem) -> str:
    """Return the description; every OST is an element, its server the address it is reached at now."""
    servers = sorted({target.server or _UNKNOWN_SERVER for target in system.targets})
    numbers = {server: number for number, server in enumerate(servers, 1)}
    parts = [
        _HEAD.format(
            name=system.name,
            name_literal=literal(system.name),
            label_literal=literal(f"Lustre {system.name}"),
            mount_literal=literal(system.mount_point),
        ),
        *(f":server{number} a qsm:Server ; qsm:name {literal(name)} .\n" for name, number in numbers.items()),
        *(_element(system, target, numbers[target.server or _UNKNOWN_SERVER]) for target in system.targets),
    ]
    return "\n".join(parts)


def _element(system: FileSystem, target: Target, server: int) -> str:
    facts = [
        f'qsm:name "OST{target.index:04x}"',
        f"qsm:elementOf :{system.name}",
        f"qsm:servedBy :server{server}",
        f'qsm:target "{target.index}"',
        f"qsm:state qsm:{_state(target)}",
    ]
    if target.pools:  # an element is described by one pool: the smallest it is in
        pool = min(target.pools, key=lambda name: (len(system.pools[name]), name))
        facts.append(f"qsm:pool {literal(pool)}")
    if "f" in target.flags:
        facts.append('qsm:tier "flash"')
    if target.capacity_bytes:
        facts.append(
            f"qsm:capacity [ a qudt:QuantityValue ; qudt:numericValue {target.capacity_bytes / 2**20:.6e} ; "
            "qudt:hasUnit unit:MebiBYTE ]"
        )
    return f":ost{target.index} a qsm:ObjectStorageTarget ;\n    " + " ;\n    ".join(facts) + " .\n"


def _state(target: Target) -> str:
    if not target.active or not target.answers or target.import_state not in (None, "FULL", "IDLE"):
        return "Inactive"
    if set("RSI") & set(target.flags):
        return "ReadOnly"
    if "N" in target.flags:
        return "Draining"
    return "Degraded" if "D" in target.flags else "Active"
