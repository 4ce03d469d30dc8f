"""Elements in sums: by tier, server or pool, and by the exporter that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ses_client.messages.elements import Sources
from ses_client.messages.message import Message

ByName = Literal["tier", "server", "pool"]


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


class ElementGroup(Message):
    """Elements of a storage system with the same tier, server or pool; an empty `value`: without one.

    `now` is the sum of what those that are usable offer, `whole` of what all would idle or empty.  `fifths`
    counts those that are not usable or not seen, then the others by the fifth of their whole that is left.
    """

    storage_system: str
    backend: str
    value: str
    elements: int
    usable: int
    now: float | None = None
    whole: float | None = None
    fifths: Annotated[Sequence[int], "Fifths"]


class FullSoon(Message):
    """An element that will be full."""

    element: str
    full_in_days: float


class ElementGroups(Sources):
    """The groups of `elements` elements.

    `choices` says of each tier, server and pool how many groups it makes, where at least one element has one;
    `by` is the one chosen, `unit` that of the sums.  `systems` are all of the site.
    """

    generated_at: float = 0.0
    systems: Sequence[str]
    elements: int
    choices: Mapping[Annotated[str, ByName], int]
    by: Annotated[str, ByName] | None = None
    unit: Annotated[str, Literal["MB/s", "GB"]] = "MB/s"
    groups_total: int
    groups: Sequence[ElementGroup]
    full_soon_total: int
    full_soon: Sequence[FullSoon]


class Exporter(Message):
    """One target of the monitor; an empty `target`: it watches these elements nowhere.

    `stale` have a last sample that is too old by now, `missing` never had one.
    """

    target: str
    elements: int
    ok: int
    stale: int
    missing: int
    oldest_seconds: float | None = None
    details: Sequence[str]


class Exporters(Sources):
    """Where the figures come from, those with trouble first; `total` counts those beyond the limit, too."""

    total: int
    exporters: Sequence[Exporter]
