"""A Lustre file system as a description of the site in Turtle, for the knowledge base.

Says what was seen and nothing else: rates, tiers of disks and labels are for an administrator to add.
"""

from __future__ import annotations

from ses.literal import PREFIXES, element, literal
from ses.lustre.targets import FileSystem, Target

_HEAD = """\
# {name_literal}, as seen from a client at {mount_literal}.  Add nominal rates
# (qsm:nominalReadRate, qsm:nominalWriteRate) where they are known, and what links of servers carry
# (qsm:linkRate); see docs/site.md.
{prefixes}
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
            prefixes=PREFIXES,
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
    # An element is described by one pool: the smallest it is in.
    pool = min(target.pools, key=lambda name: (len(system.pools[name]), name), default="")
    facts = {
        "name": f'"OST{target.index:04x}"',
        "elementOf": f":{system.name}",
        "servedBy": f":server{server}",
        "target": f'"{target.index}"',
        "state": f"qsm:{_state(target)}",
        "pool": pool and literal(pool),
        "tier": '"flash"' if "f" in target.flags else "",
    }
    return element(f":ost{target.index}", "ObjectStorageTarget", facts, target.capacity_bytes)


def _state(target: Target) -> str:
    if not target.active or not target.answers or target.import_state not in (None, "FULL", "IDLE"):
        return "Inactive"
    if set("RSI") & set(target.flags):
        return "ReadOnly"
    if "N" in target.flags:
        return "Draining"
    return "Degraded" if "D" in target.flags else "Active"
