"""Elements in sums: by tier, server or pool, and by the exporter that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ses_client.answers.elements import Source
from ses_client.answers.reading import Answer, maybe_number, maybe_text


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
class ElementGroup:
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

    @classmethod
    def of(cls, data: Any) -> ElementGroup:
        """Make one from JSON."""
        return cls(
            storage_system=str(data["storage_system"]),
            backend=str(data["backend"]),
            value=str(data["value"]),
            elements=int(data["elements"]),
            usable=int(data["usable"]),
            now=maybe_number(data["now"]),
            whole=maybe_number(data["whole"]),
            fifths=tuple(int(one) for one in data["fifths"]),
        )


@dataclass(frozen=True, slots=True)
class ElementGroups(Answer):
    """``elements`` elements in groups by ``by``; ``choices`` are how many groups each way would make.

    ``systems`` are all of the site.  ``full_soon`` are the first elements that will be full, with days.
    """

    systems: tuple[str, ...]
    elements: int
    choices: Mapping[str, int]
    by: str
    groups: tuple[ElementGroup, ...]
    groups_total: int
    full_soon: tuple[tuple[str, float], ...]
    full_soon_total: int
    monitor: Source
    knowledge_base: Source
    generated_at: float | None = None

    @property
    def sources(self) -> tuple[Source, Source]:
        """Where the numbers come from."""
        return self.monitor, self.knowledge_base

    @classmethod
    def of(cls, data: Any) -> ElementGroups:
        """Make it from JSON."""
        return cls(
            systems=tuple(map(str, data["systems"])),
            elements=int(data["elements"]),
            choices={str(by): int(count) for by, count in data["choices"].items()},
            by=maybe_text(data["by"]) or "",
            groups=tuple(map(ElementGroup.of, data["groups"])),
            groups_total=int(data["groups_total"]),
            full_soon=tuple(
                (str(one["element"]), float(one["full_in_days"])) for one in data["full_soon"]
            ),
            full_soon_total=int(data["full_soon_total"]),
            monitor=Source.of("monitor", data["monitor"]),
            knowledge_base=Source.of("knowledge base", data["knowledge_base"]),
            generated_at=maybe_number(data.get("generated_at")),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exporter:
    """One source of the monitor's figures, with its elements by how they are seen.

    An empty ``name``: nothing watches them.  ``oldest`` is the age of its oldest sample in seconds.
    """

    name: str
    ok: int
    stale: int
    missing: int
    oldest: float | None
    detail: str

    @property
    def total(self) -> int:
        """All its elements."""
        return self.ok + self.stale + self.missing

    @classmethod
    def of(cls, data: Any) -> Exporter:
        """Make one from JSON."""
        return cls(
            name=str(data["target"]),
            ok=int(data["ok"]),
            stale=int(data["stale"]),
            missing=int(data["missing"]),
            oldest=maybe_number(data["oldest_seconds"]),
            detail="; ".join(map(str, data["details"])),
        )


@dataclass(frozen=True, slots=True)
class Exporters(Answer):
    """The first exporters, those with trouble before the others, out of ``total``."""

    exporters: tuple[Exporter, ...]
    total: int
    monitor: Source
    knowledge_base: Source

    @classmethod
    def of(cls, data: Any) -> Exporters:
        """Make it from JSON."""
        return cls(
            exporters=tuple(map(Exporter.of, data["exporters"])),
            total=int(data["total"]),
            monitor=Source.of("monitor", data["monitor"]),
            knowledge_base=Source.of("knowledge base", data["knowledge_base"]),
        )
