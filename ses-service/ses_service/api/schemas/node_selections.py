"""Nodes for a task: the question, the ranked nodes, and the classes of nodes there are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from ses_service.api.schemas.answers import (
    Answer,
    ExcludedElement,
    ExpectedFrom,
    Prediction,
    Rates,
    ReasonName,
    ResolvedRequirement,
    StalledThread,
)
from ses_service.api.schemas.requests import (
    Body,
    Bytes,
    ProfileName,
    Requirements,
    SubjectIn,
    Text,
    each_kind_once,
)
from ses_service.knowledge.hostlist import expanded
from ses_service.state.node_access import JobShape

_MAX_HOSTLIST = 65_536


def _nodes(text: object) -> frozenset[str]:
    """Return the nodes of a list, which is read once only."""
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_HOSTLIST:
        raise ValueError(f"should be a list of nodes of 1 to {_MAX_HOSTLIST} characters")
    return frozenset(expanded(text))


Hostlist = Annotated[
    frozenset[str],
    PlainValidator(_nodes),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": _MAX_HOSTLIST,
            "examples": ["n[0001-0048],login1"],
        }
    ),
]


class NodeSelectionRequest(Body):
    """A question: on which nodes would a task of this subject get what it needs?

    ``count`` nodes are wanted for one job with a stream on each; more than 1 spreads them over elements,
    servers and shared links, and only these are listed.  With 1 the best ``limit`` nodes are listed, 0: all.
    ``nodes`` are the only ones that count, ``exclude`` those not wanted, both as Slurm writes nodes.
    """

    subject: SubjectIn
    storage_system: Text | None = None
    requirements: Requirements = Field(default_factory=list)
    profile: ProfileName | None = None
    expected_bytes: Bytes | None = None
    count: Annotated[int, Field(ge=1, le=1024)] = 1
    nodes: Hostlist | None = None
    exclude: Hostlist | None = None
    limit: Annotated[int, Field(ge=0, le=100_000)] = 10

    @model_validator(mode="after")
    def _whole(self) -> NodeSelectionRequest:
        each_kind_once(self.requirements)
        return self

    def shape(self) -> JobShape:
        """Return how many nodes are wanted, and of which."""
        return JobShape(self.count, self.nodes, self.exclude or frozenset())


class NodeCandidate(Answer):
    """One rank: what a stream of the task would get on this node, on the element it would be given.

    ``limited_by`` says what the stream waits for: the element, the node's own link, or the link it shares.
    ``node_class`` is null for a node that no class of the site has.
    """

    rank: int
    node: str
    node_class: str | None
    element: str
    storage_system: str
    distance: float
    available: Rates
    free_gb: float | None
    predicted: list[Prediction]
    limited_by: Literal["element", "link", "uplink"]
    open_files: int


class NodeRefusal(Answer):
    """Nodes of one class that cannot run the task, and why; `nodes` as Slurm writes them."""

    nodes: str
    count: int
    node_class: str | None
    reason: ReasonName
    detail: str


class NodeSelection(Answer):
    """Ranked nodes, refused nodes, and what a person should know about the data.

    `total` is how many nodes were looked at, those beyond `limit` included.
    """

    decided_at: float
    requirements: list[ResolvedRequirement]
    expected_bytes: float | None
    expected_from: ExpectedFrom | None
    total: int
    candidates: list[NodeCandidate]
    refused: list[NodeRefusal]
    notes: list[str]


class NodeClassOut(Answer):
    """Nodes that are alike.  `storage_systems` null: all; rates null: not known.

    `node_class` is null for nodes that no class of the site has: those known by name only.  `heard` is how
    many of them have an agent that is heard of.  `holds` are the elements, by id, that each of them reads
    without the storage network, `stalled` threads of their agents that do not go on,
    `excluded` elements to which no file of some of them can go.
    """

    node_class: str | None
    nodes: str
    count: int
    heard: int
    open_files: int
    storage_systems: list[str] | None
    link_mb_s: float | None
    uplink: str | None
    uplink_mb_s: float | None
    holds: list[str]
    stalled: list[StalledThread]
    excluded: list[ExcludedElement]


class NodeClassList(Answer):
    """The classes of nodes, in the order of their names; nodes without a class come last."""

    node_classes: list[NodeClassOut]


class NodeOut(Answer):
    """One node whose agent announces its files; `stalled` are threads of it that do not go on.

    `excluded` are elements to which no file of the node can go.
    """

    node: str
    incarnation: str
    since: float
    heard_at: float
    silent_after: float
    version: str | None
    open_placements: int
    stalled: list[StalledThread]
    excluded: list[ExcludedElement]


class NodeList(Answer):
    """The nodes, by name; `silent` are those heard of since this service started, and no more."""

    nodes: list[NodeOut]
    silent: list[NodeOut]


class NodeCalibrationOut(Answer):
    """What one node was measured to give to streaming programs, when and how; null: not measured.

    `core_copy_mb_s` is what one core copies, `memory_mb_s` what crosses the memory bus while all copy, and
    `link_mb_s` what one stream to a peer got.
    """

    node: str
    calibrated_at: float
    method: str
    cores: int | None
    core_copy_mb_s: float | None
    memory_mb_s: float | None
    link_mb_s: float | None
