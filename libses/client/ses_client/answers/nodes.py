"""Nodes: the ranking for a task, the classes of nodes there are, and what one was measured to give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import Answer, maybe_number, maybe_text, number, texts
from ses_client.answers.requirements import Requirement, requirements_of


@dataclass(frozen=True, slots=True)
class RankedNode:
    """One node that may run a task, and what a stream of it would get there (MB/s, GB)."""

    rank: int
    node: str
    element: str
    distance: float
    read: float | None
    write: float | None
    free_gb: float | None
    limited_by: str
    open_files: int
    node_class: str | None = None

    @classmethod
    def of(cls, data: Any) -> RankedNode:
        """Make one from JSON."""
        available = data["available"]
        return cls(
            rank=int(data["rank"]),
            node=str(data["node"]),
            element=str(data["element"]),
            distance=number(data["distance"]),
            read=maybe_number(available.get("read_mb_s")),
            write=maybe_number(available.get("write_mb_s")),
            free_gb=maybe_number(data.get("free_gb")),
            limited_by=str(data.get("limited_by") or ""),
            open_files=int(data.get("open_files") or 0),
            node_class=maybe_text(data.get("node_class")),
        )


@dataclass(frozen=True, slots=True)
class RefusedNodes:
    """Nodes of one class that cannot run the task, as Slurm writes them, and why."""

    nodes: str
    count: int
    reason: str
    detail: str

    @classmethod
    def of(cls, data: Any) -> RefusedNodes:
        """Make one from JSON."""
        return cls(str(data["nodes"]), int(data["count"]), str(data["reason"]), str(data["detail"]))


@dataclass(frozen=True, slots=True)
class NodeSelection(Answer):
    """A ranking of nodes."""

    requirements: tuple[Requirement, ...]
    nodes: tuple[RankedNode, ...]
    refused: tuple[RefusedNodes, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> NodeSelection:
        """Make one from JSON."""
        return cls(
            requirements=requirements_of(data["requirements"]),
            nodes=tuple(RankedNode.of(one) for one in data["candidates"]),
            refused=tuple(RefusedNodes.of(one) for one in data["refused"]),
            notes=texts(data.get("notes")),
        )


@dataclass(frozen=True, slots=True)
class HeardNode:
    """One node and its agent; times in seconds since the epoch.  ``version``: the agent said so."""

    node: str
    since: float
    heard_at: float
    version: str
    open_files: int

    @classmethod
    def of(cls, data: Any) -> HeardNode:
        """Make one from JSON."""
        return cls(
            node=str(data["node"]),
            since=number(data["since"]),
            heard_at=number(data["heard_at"]),
            version=str(data.get("version") or ""),
            open_files=int(data.get("open_placements") or 0),
        )


@dataclass(frozen=True, slots=True)
class HeardNodes(Answer):
    """The nodes whose agents are heard of, and those that fell silent."""

    nodes: tuple[HeardNode, ...]
    silent: tuple[HeardNode, ...]

    @classmethod
    def of(cls, data: Any) -> HeardNodes:
        """Make it from JSON."""
        heard, silent = data["nodes"], data.get("silent") or ()
        return cls(tuple(map(HeardNode.of, heard)), tuple(map(HeardNode.of, silent)))


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that are alike; no name: nodes that no class of the site has.  ``systems`` ``None``: all.

    ``holds``: the elements they read without the storage network.
    """

    name: str | None
    nodes: str
    count: int
    heard: int
    open_files: int
    systems: tuple[str, ...] | None
    link: float | None
    uplink: str | None
    uplink_rate: float | None
    holds: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any) -> NodeClass:
        """Make one from JSON."""
        systems = data.get("storage_systems")
        return cls(
            name=maybe_text(data.get("node_class")),
            nodes=str(data["nodes"]),
            count=int(data["count"]),
            heard=int(data["heard"]),
            open_files=int(data["open_files"]),
            systems=None if systems is None else texts(systems),
            link=maybe_number(data.get("link_mb_s")),
            uplink=maybe_text(data.get("uplink")),
            uplink_rate=maybe_number(data.get("uplink_mb_s")),
            holds=texts(data.get("holds")),
        )


@dataclass(frozen=True, slots=True)
class NodeClasses(Answer):
    """The classes of nodes, with how many of them are heard of."""

    classes: tuple[NodeClass, ...]

    @classmethod
    def of(cls, data: Any) -> NodeClasses:
        """Make it from JSON."""
        return cls(tuple(map(NodeClass.of, data["node_classes"])))


@dataclass(frozen=True, slots=True)
class NodeCalibration(Answer):
    """What one node was measured to give (MB/s), when (seconds since the epoch) and how; None: unknown."""

    node: str
    calibrated_at: float
    method: str
    core_copy: float | None
    memory: float | None
    link: float | None

    @classmethod
    def of(cls, data: Any) -> NodeCalibration:
        """Make it from JSON."""
        return cls(
            node=str(data["node"]),
            calibrated_at=number(data["calibrated_at"]),
            method=str(data.get("method") or ""),
            core_copy=maybe_number(data.get("core_copy_mb_s")),
            memory=maybe_number(data.get("memory_mb_s")),
            link=maybe_number(data.get("link_mb_s")),
        )
