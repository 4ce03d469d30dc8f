"""Compute nodes as the site describes them: classes of nodes that are alike, links they share, measurements.

Pure data.  Rates are bytes per second, each way.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """A link that several nodes share on their way to storage; ``rate`` ``None``: not known."""

    name: str
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Compute nodes that are alike.

    ``hosts`` are their names as the site writes them, such as ``n[0001-4096]``, and ``nodes`` the same one by
    one.  ``systems`` are the storage systems they mount, ``None``: all.  ``link_rate`` is what the link of
    one node carries, ``None``: not known.  ``holds`` are the elements they read without the network, by id.
    """

    name: str
    hosts: str
    nodes: tuple[str, ...]
    systems: frozenset[str] | None = None
    link_rate: float | None = None
    uplink: NetworkLink | None = None
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeCalibration:
    """What one node was measured to give to streaming programs; ``None``: not measured.

    ``at`` is in seconds since the epoch.  ``core_copy_rate`` is what one core copies, ``memory_rate`` what
    crosses the memory bus while all copy, ``link_rate`` what one stream to a peer got.
    """

    node: str
    at: float
    method: str = ""
    cores: int | None = None
    core_copy_rate: float | None = None
    memory_rate: float | None = None
    link_rate: float | None = None
