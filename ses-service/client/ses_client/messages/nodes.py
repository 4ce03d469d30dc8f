"""Nodes: the ranking for a task, the classes of nodes there are, and what one was measured to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Message
from ses_client.messages.requirements import ResolvedRequirement
from ses_client.messages.selections import ExpectedFrom, Prediction, Rates, ReasonName


class RankedNode(Message):
    """One rank: what a stream of the task would get on this node, on the element it would be given.

    ``limited_by`` says what the stream waits for: the element, the node's own link, or the link it shares.
    ``node_class`` is null for a node that no class of the site has.
    """

    rank: int
    node: str
    node_class: str | None = None
    element: str
    storage_system: str = ""
    distance: float
    available: Rates
    free_gb: float | None = None
    predicted: Sequence[Prediction] = ()
    limited_by: Annotated[str, Literal["element", "link", "uplink"]]
    open_files: int


class RefusedNodes(Message):
    """Nodes of one class that cannot run the task, and why; `nodes` as Slurm writes them."""

    nodes: str
    count: int
    node_class: str | None = None
    reason: Annotated[str, ReasonName]
    detail: str


class NodeSelection(Message):
    """Ranked nodes, refused nodes, and what a person should know about the data.

    `total` is how many nodes were looked at, those beyond `limit` included.
    """

    decided_at: float = 0.0
    requirements: Sequence[ResolvedRequirement]
    expected_bytes: float | None = None
    expected_from: Annotated[str, ExpectedFrom] | None = None
    total: int = 0
    candidates: Sequence[RankedNode]
    refused: Sequence[RefusedNodes]
    notes: Sequence[str] = ()


class StalledThread(Message):
    """A thread of a node's agent that does not go on, since when, in seconds since the epoch."""

    node: str
    thread: str
    since: float


class ExcludedElement(Message):
    """An element to which no file of a node can go, of a user there if one is named, and why."""

    node: str
    element: str
    user: str | None = None
    why: str

    def __str__(self) -> str:
        whose = f" for {self.user}" if self.user else ""
        return f"excluded on {self.node}{whose}: {self.why}"


class NodeClass(Message):
    """Nodes that are alike.  `storage_systems` null: all; rates null: not known.

    `node_class` is null for nodes that no class of the site has: those known by name only.  `heard` is how
    many of them have an agent that reports.  `holds` are the elements, by id, that each of them reads
    without the storage network, `stalled` threads of their agents that do not go on,
    `excluded` elements to which no file of some of them can go.
    """

    node_class: str | None = None
    nodes: str
    count: int
    heard: int
    open_files: int
    storage_systems: Sequence[str] | None = None
    link_mb_s: float | None = None
    uplink: str | None = None
    uplink_mb_s: float | None = None
    holds: Sequence[str] = ()
    stalled: Sequence[StalledThread] = ()
    excluded: Sequence[ExcludedElement] = ()


class NodeClasses(Message):
    """The classes of nodes, in the order of their names; nodes without a class come last."""

    node_classes: Sequence[NodeClass]


class HeardNode(Message):
    """One node whose agent announces its files; `stalled` are threads of it that do not go on.

    `excluded` are elements to which no file of the node can go.
    """

    node: str
    incarnation: str = ""
    since: float
    heard_at: float
    silent_after: float = 0.0
    version: str | None = None
    open_placements: int
    stalled: Sequence[StalledThread] = ()
    excluded: Sequence[ExcludedElement] = ()


class HeardNodes(Message):
    """The nodes, by name; `silent` are those that reported since this service started, and do no more."""

    nodes: Sequence[HeardNode]
    silent: Sequence[HeardNode] = ()


class NodeCalibration(Message):
    """What one node was measured to give to streaming programs, when and how; null: not measured.

    `core_copy_mb_s` is what one core copies, `memory_mb_s` what crosses the memory bus while all copy, and
    `link_mb_s` what one stream to a peer got.
    """

    node: str
    calibrated_at: float
    method: str
    cores: int | None = None
    core_copy_mb_s: float | None = None
    memory_mb_s: float | None = None
    link_mb_s: float | None = None
