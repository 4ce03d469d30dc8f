"""Elements in sums: by tier, server or pool, and by the exporter that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ses_client.answers.elements import KnowledgeBase, Monitor, Source
from ses_client.answers.reading import Answer, At, Part, text


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which elements are asked for; ``None`` leaves out none, an empty text wants those without one."""

    system: str | None = None
    tier: str | None = None
    server: str | None = None
    pool: str | None = None

    def fields(self) -> dict[str, object]:
        """Return them as the service is asked."""
        return {"system": self.system, "tier": self.tier, "server": self.server, "pool": self.pool}


@dataclass(frozen=True, slots=True)
class ElementGroup(Part):
    """Elements of a storage system with the same ``value``, empty where they have none.

    ``now`` and ``whole`` are sums in the unit of the answer: of those that are usable, and of all when idle
    or empty.  ``fifths`` counts those that are not usable, then by the fifth of the whole that is left.
    """

    storage_system: str
    backend: str
    value: str
    elements: int
    usable: int
    now: float | None
    whole: float | None
    fifths: tuple[int, ...]


def _full_soon(found: Any) -> tuple[tuple[str, float], ...]:
    return tuple((str(one["element"]), float(one["full_in_days"])) for one in found)


@dataclass(frozen=True, slots=True)
class ElementGroups(Answer):
    """``elements`` elements in groups by ``by``; ``choices`` are how many groups each way would make.

    ``systems`` are all of the site.  ``full_soon`` are the first elements that will be full, with days.
    """

    systems: tuple[str, ...]
    elements: int
    choices: Mapping[str, int]
    by: Annotated[str, At("by", text)]
    groups: tuple[ElementGroup, ...]
    groups_total: int
    full_soon: Annotated[tuple[tuple[str, float], ...], At("full_soon", _full_soon)]
    full_soon_total: int
    monitor: Monitor
    knowledge_base: KnowledgeBase
    generated_at: float | None = None

    @property
    def sources(self) -> tuple[Source, Source]:
        """Where the numbers come from."""
        return self.monitor, self.knowledge_base


@dataclass(frozen=True, slots=True)
class Exporter(Part):
    """One source of the monitor's figures, with its elements by how they are seen.

    An empty ``name``: nothing watches them.  ``oldest`` is the age of its oldest sample in seconds.
    """

    name: Annotated[str, At("target")]
    ok: int
    stale: int
    missing: int
    oldest: Annotated[float | None, At("oldest_seconds")]
    detail: Annotated[str, At("details", "; ".join)]

    @property
    def total(self) -> int:
        """All its elements."""
        return self.ok + self.stale + self.missing


@dataclass(frozen=True, slots=True)
class Exporters(Answer):
    """The first exporters, those with trouble before the others, out of ``total``."""

    exporters: tuple[Exporter, ...]
    total: int
    monitor: Monitor
    knowledge_base: KnowledgeBase
