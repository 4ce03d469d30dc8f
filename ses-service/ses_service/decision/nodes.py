"""What the ranking of nodes is asked, what it sees of nodes, and what it answers."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ses_service.decision.question import Question
from ses_service.ledger.placement import Prediction, Reason
from ses_service.model.columns import Bools, Codes, Floats
from ses_service.model.entities import Element, Environment, ResolvedRequirement
from ses_service.model.nodes import ByHost, NodeClass


class LimitedBy(StrEnum):
    """What a stream of the task waits for."""

    ELEMENT = "element"
    LINK = "link"
    UPLINK = "uplink"


@dataclass(frozen=True, slots=True)
class NodesQuestion:
    """Which nodes are best for a task.

    ``question`` is whose files need what.  ``count`` is how many nodes one job wants, with a stream on each;
    ``among`` are the only nodes that count, ``None``: all; ``exclude`` are not wanted.
    """

    question: Question
    count: int = 1
    among: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """One node that may run the task, and what a stream of it would get there.

    ``element`` is where it would write; rates are bytes per second, ``free`` bytes; ``open_files`` are those
    that programs under this product have open on the node now.
    """

    rank: int
    node: str
    node_class: str | None
    element: Element
    distance: float
    read: float | None
    write: float | None
    free: float | None
    predicted: tuple[Prediction, ...]
    limited_by: LimitedBy
    open_files: int


@dataclass(frozen=True, slots=True)
class NodeRefusal:
    """Nodes of one class that cannot run the task, and why.

    ``hosts`` are their names as the site writes them, where that is the whole class; else empty.
    """

    nodes: tuple[str, ...]
    hosts: str
    node_class: str | None
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class NodeDecision:
    """The answer.  ``total`` is how many nodes were looked at, those not listed included."""

    decided_at: float
    requirements: tuple[ResolvedRequirement, ...]
    candidates: tuple[NodeCandidate, ...]
    refused: tuple[NodeRefusal, ...]
    notes: tuple[str, ...]
    total: int
    expected_bytes: float | None = None
    expected_from: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Fleet:
    """The nodes of a site as columns; place ``i`` of each is about ``names[i]``.

    ``of_class`` is the place of its class in ``classes``.  By class, ``access`` is the place in ``mounts`` of
    what its nodes mount (``None``: all), ``link`` the rate of a node's link, ``uplink`` the place of the
    shared link in ``uplinks`` (-1: none); ``nan`` is not known.
    """

    names: tuple[str, ...]
    index: ByHost[int]
    of_class: Codes
    classes: tuple[NodeClass, ...]
    access: Codes
    mounts: tuple[frozenset[str] | None, ...]
    link: Floats
    uplink: Codes
    uplinks: tuple[str, ...]
    uplink_rate: Floats

    def places(self, names: Iterable[str]) -> Bools:
        """Return for each node whether it is one of these."""
        named = np.zeros(len(self.names), dtype=np.bool_)
        named[[place for place in map(self.index.get, names) if place is not None]] = True
        return named


def fleet(environment: Environment, reporting: Mapping[str, frozenset[str]]) -> Fleet:
    """Return the nodes the site describes, and those that report with the storage systems they use.

    A node that no class has is one of a class without a name, with those that mount the same.
    """
    classes = list(environment.node_classes)
    described = {node for node_class in classes for node in node_class.nodes}
    others: dict[frozenset[str], list[str]] = {}
    for node, systems in {**reporting, **environment.node_access}.items():
        if node not in described:
            others.setdefault(systems, []).append(node)
    for systems in sorted(others, key=sorted):
        nodes = tuple(sorted(others[systems]))
        classes.append(NodeClass("", "", nodes, systems))
    names = tuple(node for node_class in classes for node in node_class.nodes)
    mounts = tuple(dict.fromkeys(node_class.systems for node_class in classes))
    uplinks = {node_class.uplink.name: node_class.uplink.rate for node_class in classes if node_class.uplink}
    at = {name: place for place, name in enumerate(uplinks)}
    return Fleet(
        names=names,
        index=ByHost(zip(names, itertools.count())),
        of_class=np.repeat(np.arange(len(classes)), [len(node_class.nodes) for node_class in classes]),
        classes=tuple(classes),
        access=np.array([mounts.index(node_class.systems) for node_class in classes], dtype=np.int64),
        mounts=mounts,
        link=np.array(
            [np.nan if node_class.link_rate is None else node_class.link_rate for node_class in classes]
        ),
        uplink=np.array(
            [at[node_class.uplink.name] if node_class.uplink else -1 for node_class in classes],
            dtype=np.int64,
        ),
        uplinks=tuple(uplinks),
        uplink_rate=np.array([np.nan if rate is None else rate for rate in uplinks.values()]),
    )
