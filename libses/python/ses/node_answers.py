"""What the service answers about nodes, as far as the command line shows it; see :mod:`ses.answers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses.answers import Requirement


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


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

    @classmethod
    def of(cls, data: Any) -> RankedNode:
        """Make one from JSON."""
        available = data["available"]
        return cls(
            rank=int(data["rank"]),
            node=str(data["node"]),
            element=str(data["element"]),
            distance=float(data["distance"]),
            read=_number(available.get("read_mb_s")),
            write=_number(available.get("write_mb_s")),
            free_gb=_number(data.get("free_gb")),
            limited_by=str(data.get("limited_by") or ""),
            open_files=int(data.get("open_files") or 0),
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
class NodeSelection:
    """A ranking of nodes."""

    requirements: tuple[Requirement, ...]
    nodes: tuple[RankedNode, ...]
    refused: tuple[RefusedNodes, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> NodeSelection:
        """Make one from JSON."""
        return cls(
            requirements=tuple(Requirement.of(one) for one in data["requirements"]),
            nodes=tuple(RankedNode.of(one) for one in data["candidates"]),
            refused=tuple(RefusedNodes.of(one) for one in data["refused"]),
            notes=tuple(str(one) for one in data.get("notes") or ()),
        )


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
            name=data.get("node_class"),
            nodes=str(data["nodes"]),
            count=int(data["count"]),
            heard=int(data["heard"]),
            open_files=int(data["open_files"]),
            systems=None if systems is None else tuple(str(one) for one in systems),
            link=_number(data.get("link_mb_s")),
            uplink=data.get("uplink"),
            uplink_rate=_number(data.get("uplink_mb_s")),
            holds=tuple(str(one) for one in data.get("holds") or ()),
        )

    @classmethod
    def all_of(cls, data: Any) -> tuple[NodeClass, ...]:
        """Make all of a list."""
        return tuple(cls.of(one) for one in data["node_classes"])
