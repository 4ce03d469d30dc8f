"""Nodes: the ranking for a task, the classes of nodes there are, and what one was measured to give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ses_client.answers.reading import Answer, At, Part, text
from ses_client.answers.requirements import Requirement


@dataclass(frozen=True, slots=True)
class RankedNode(Part):
    """One node that may run a task, and what a stream of it would get there (MB/s, GB)."""

    rank: int
    node: str
    element: str
    distance: float
    read: Annotated[float | None, At("available.read_mb_s")]
    write: Annotated[float | None, At("available.write_mb_s")]
    free_gb: float | None
    limited_by: str
    open_files: int
    node_class: str | None = None


@dataclass(frozen=True, slots=True)
class RefusedNodes(Part):
    """Nodes of one class that cannot run the task, as Slurm writes them, and why."""

    nodes: str
    count: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class NodeSelection(Answer):
    """A ranking of nodes."""

    requirements: tuple[Requirement, ...]
    nodes: Annotated[tuple[RankedNode, ...], At("candidates")]
    refused: tuple[RefusedNodes, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StalledThread(Part):
    """A thread of a node's agent that does not go on, and since when (seconds since the epoch)."""

    node: str
    thread: str
    since: float


@dataclass(frozen=True, slots=True)
class ExcludedElement(Part):
    """An element to which no file of a node can go, of a user there if one is named, and why."""

    node: str
    element: str
    why: str
    user: str | None = None

    def __str__(self) -> str:
        whose = f" for {self.user}" if self.user else ""
        return f"excluded on {self.node}{whose}: {self.why}"


@dataclass(frozen=True, slots=True)
class HeardNode(Part):
    """One node and its agent; times in seconds since the epoch.  ``version``: the agent said so."""

    node: str
    since: float
    heard_at: float
    version: Annotated[str, At("version", text)]
    open_files: Annotated[int, At("open_placements")]
    stalled: tuple[StalledThread, ...] = ()
    excluded: tuple[ExcludedElement, ...] = ()


@dataclass(frozen=True, slots=True)
class HeardNodes(Answer):
    """The nodes whose agents are heard of, and those that fell silent."""

    nodes: tuple[HeardNode, ...]
    silent: tuple[HeardNode, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeClass(Part):
    """Nodes that are alike; no name: nodes that no class of the site has.  ``systems`` ``None``: all.

    ``holds``: the elements they read without the storage network.
    """

    name: Annotated[str | None, At("node_class")]
    nodes: str
    count: int
    heard: int
    open_files: int
    systems: Annotated[tuple[str, ...] | None, At("storage_systems")]
    link: Annotated[float | None, At("link_mb_s")]
    uplink: str | None
    uplink_rate: Annotated[float | None, At("uplink_mb_s")]
    holds: tuple[str, ...] = ()
    stalled: tuple[StalledThread, ...] = ()
    excluded: tuple[ExcludedElement, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeClasses(Answer):
    """The classes of nodes, with how many of them are heard of."""

    classes: Annotated[tuple[NodeClass, ...], At("node_classes")]


@dataclass(frozen=True, slots=True)
class NodeCalibration(Answer):
    """What one node was measured to give (MB/s), when (seconds since the epoch) and how; None: unknown."""

    node: str
    calibrated_at: float
    method: str
    core_copy: Annotated[float | None, At("core_copy_mb_s")]
    memory: Annotated[float | None, At("memory_mb_s")]
    link: Annotated[float | None, At("link_mb_s")]
