"""What is known of each link: whether it holds, how old its last word is, which version speaks.

Pure: it sorts and counts what the service told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ses_client.answers.elements import Element, Inventory, Readiness
from ses_client.answers.nodes import HeardNode, HeardNodes, NodeClass, NodeClasses

MOST_NODES = 200
_WORDS = {
    "knowledge-base": "Knowledge base",
    "site": "Site",
    "monitor": "Monitor",
    "decision": "Decision",
    "database": "Ledger's database",
    "damaged-ledger": "Damaged ledger",
    "directory": "Directory of groups",
    "members-file": "Members file",
    "issuer": "Issuer of tokens",
}


@dataclass(frozen=True, slots=True)
class Link:
    """One link; ``ok`` None: it says nothing of itself.  ``age`` is in seconds."""

    name: str
    ok: bool | None
    detail: str
    age: float | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Exporter:
    """One source of the monitor's figures, with its elements by how they are seen."""

    name: str
    ok: int
    stale: int
    missing: int
    oldest: float | None
    detail: str

    @property
    def total(self) -> int:
        """All its elements."""
        return self.ok + self.stale + self.missing


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes: silent ones first of those heard last, and the agents' versions with their numbers.

    ``unheard`` are classes of the site with nodes that were not heard of since the service started.
    """

    heard: int
    silent: tuple[HeardNode, ...]
    versions: tuple[tuple[str, int], ...]
    longest_unheard: tuple[HeardNode, ...]
    unheard: tuple[NodeClass, ...]


def links_of(readiness: Readiness, inventory: Inventory | None, portal_version: str) -> list[Link]:
    """Return the links of the service, as its own checks name them."""
    found = [
        Link("Portal", ok=True, detail="answers you", version=portal_version),
        Link(
            "Selection service",
            ok=readiness.ready,
            detail="makes decisions" if readiness.ready else "makes no decisions",
            version=readiness.version,
        ),
    ]
    ages = {} if inventory is None else {
        "monitor": inventory.monitor.age_seconds, "knowledge-base": inventory.knowledge_base.age_seconds,
    }  # fmt: skip
    for check in readiness.checks:
        if check.name == "decision":
            continue
        version = check.detail.removeprefix("version ") if check.detail.startswith("version ") else ""
        detail = "" if version else check.detail
        found.append(
            Link(_WORDS.get(check.name, check.name.replace("-", " ").capitalize()), check.ok, detail,
                 ages.get(check.name), version)
        )  # fmt: skip
    return found


def configuration_of(readiness: Readiness) -> str:
    """Return in one line which settings of the decision differ from the defaults; empty when unknown."""
    return next((check.detail for check in readiness.checks if check.name == "decision"), "")


def exporters_of(elements: Iterable[Element]) -> list[Exporter]:
    """Return the sources of the monitor's figures: those with elements not seen first, then by name."""
    groups: dict[str, list[Element]] = {}
    for element in elements:
        seen = element.observation
        groups.setdefault(seen.exporter if seen is not None else "", []).append(element)
    found = [_exporter(name, members) for name, members in groups.items()]
    return sorted(found, key=lambda one: (one.ok == one.total, one.name))


def fleet_of(nodes: HeardNodes, classes: NodeClasses) -> Fleet:
    """Return what is known of the nodes."""
    versions = Counter(one.version or "not told" for one in nodes.nodes)
    return Fleet(
        heard=len(nodes.nodes),
        silent=tuple(sorted(nodes.silent, key=lambda one: -one.heard_at)[:MOST_NODES]),
        versions=tuple(sorted(versions.items())),
        longest_unheard=tuple(sorted(nodes.nodes, key=lambda one: one.heard_at)[:MOST_NODES]),
        unheard=tuple(one for one in classes.classes if one.heard < one.count),
    )


def _exporter(name: str, members: list[Element]) -> Exporter:
    states = Counter(one.observed for one in members)
    ages = [one.age_seconds for one in members if one.age_seconds is not None]
    details = {one.observation.detail for one in members if one.observation is not None}
    said = "; ".join(sorted(details - {""})[:2])
    return Exporter(name, states["ok"], states["stale"], states["missing"], max(ages, default=None), said)
