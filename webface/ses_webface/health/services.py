"""What is known of each part: whether it works, when it reported last, and its version.

Pure: it sorts and counts what the service answered.
"""

from collections import Counter
from dataclasses import dataclass

from ses_client.messages.element_groups import Exporters
from ses_client.messages.elements import Readiness
from ses_client.messages.nodes import HeardNode, HeardNodes, NodeClass, NodeClasses

MAX_NODES = 200
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
class Part:
    """One part; ``ok`` None: it says nothing of itself.  ``age`` is in seconds."""

    name: str
    ok: bool | None
    detail: str
    age: float | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes: silent ones, those that reported last first, and the agents' versions with their numbers.

    ``unreported`` are classes of the site with nodes that did not report since the service started.
    """

    reporting: int
    silent: tuple[HeardNode, ...]
    versions: tuple[tuple[str, int], ...]
    longest_silent: tuple[HeardNode, ...]
    unreported: tuple[NodeClass, ...]


def parts_of(readiness: Readiness, shown: Exporters | None, portal_version: str) -> list[Part]:
    """Return the parts of the site, as its own checks name them."""
    parts = [
        Part("Portal", ok=True, detail="answers you", version=portal_version),
        Part(
            "Selection service",
            ok=readiness.ready,
            detail="makes decisions" if readiness.ready else "makes no decisions",
            version=readiness.version,
        ),
    ]
    ages = {} if shown is None else {
        "monitor": shown.monitor.age_seconds, "knowledge-base": shown.knowledge_base.age_seconds,
    }  # fmt: skip
    for check in readiness.checks:
        if check.name == "decision":
            continue
        version = check.detail.removeprefix("version ") if check.detail.startswith("version ") else ""
        detail = "" if version else check.detail
        parts.append(
            Part(_WORDS.get(check.name, check.name.replace("-", " ").capitalize()), check.ok, detail,
                 ages.get(check.name), version)
        )  # fmt: skip
    return parts


def configuration_of(readiness: Readiness) -> str:
    """Return in one line which settings of the decision differ from the defaults; empty when unknown."""
    return next((check.detail for check in readiness.checks if check.name == "decision"), "")


def fleet_of(nodes: HeardNodes, classes: NodeClasses) -> Fleet:
    """Return what is known of the nodes."""
    versions = Counter(node.version or "unknown" for node in nodes.nodes)
    return Fleet(
        reporting=len(nodes.nodes),
        silent=tuple(sorted(nodes.silent, key=lambda node: -node.heard_at)[:MAX_NODES]),
        versions=tuple(sorted(versions.items())),
        longest_silent=tuple(sorted(nodes.nodes, key=lambda node: node.heard_at)[:MAX_NODES]),
        unreported=tuple(
            node_class for node_class in classes.node_classes if node_class.heard < node_class.count
        ),
    )
