"""Compute nodes as the site describes them: classes of nodes that are alike, links they share, measurements.

Pure data.  Rates are bytes per second, each way.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

_V = TypeVar("_V")
_D = TypeVar("_D")


class ByHost(dict[str, _V]):
    """Values by the names of hosts, found with and without a host's domain.

    A machine may call itself ``n1.example.org`` where the site writes ``n1``, or the other way round.  Two
    names with a domain, and hosts of two domains, are no others than they say.
    """

    def __init__(self, values: Iterable[tuple[str, _V]] = ()) -> None:
        super().__init__(values)
        self._by_host: dict[str, str | None] = {}
        for name in self:
            host = name.partition(".")[0]
            self._by_host[host] = None if host in self._by_host else name

    def named(self, name: str) -> str:
        """Return by which name a host is known here; its own if it is not."""
        if super().__contains__(name):
            return name
        host, dot, _ = name.partition(".")
        known = self._by_host.get(host)
        return name if known is None or (dot and "." in known) else known

    def get(self, name: str, default: _D | None = None) -> _V | _D | None:  # type: ignore[override]
        """Return the value of a host; ``default``: it is not known."""
        return super().get(self.named(name), default)

    def __getitem__(self, name: str) -> _V:
        return super().__getitem__(self.named(name))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self.named(str(name)))


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
