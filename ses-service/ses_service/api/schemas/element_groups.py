"""Elements by what is asked of them, in groups, and by the exporter that shows them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ses_service.api.schemas.answers import Answer, KnowledgeBaseSource, MonitorSource
from ses_service.api.schemas.requests import Query, Text

Value = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")]
ByName = Literal["tier", "server", "pool"]


class ElementsWanted(Query):
    """Which elements; an empty `tier`, `server` or `pool` wants those without one."""

    system: Text | None = None
    tier: Value | None = None
    server: Value | None = None
    pool: Value | None = None
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0


class ElementQuery(ElementsWanted):
    """Which elements to list, how many, and how many of them to leave out first."""

    limit: Annotated[int, Field(ge=1, le=100_000)] | None = None


class GroupsQuery(ElementsWanted):
    """Which elements to sum up, and by what: if not said, by what makes the most groups in `limit`."""

    by: ByName | None = None
    measure: Literal["write", "read", "free"] = "write"
    limit: Annotated[int, Field(ge=1, le=10_000)] = 400
    full_within_days: Annotated[float, Field(gt=0, le=3650)] = 30.0


class ExportersQuery(Query):
    """How many exporters to list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 200


class ElementGroup(Answer):
    """Elements of a storage system with the same tier, server or pool; an empty `value`: without one.

    `now` is the sum of what those that are usable offer, `whole` of what all would idle or empty.  `fifths`
    counts those that are not usable or not seen, then the others by the fifth of their whole that is left.
    """

    storage_system: str
    backend: str
    value: str
    elements: int
    usable: int
    now: float | None
    whole: float | None
    fifths: Annotated[list[int], Field(min_length=6, max_length=6)]


class FullSoon(Answer):
    """An element that will be full."""

    element: str
    full_in_days: float


class ElementGroups(Answer):
    """The groups of `elements` elements.

    `choices` says of each tier, server and pool how many groups it makes, where at least one element has one;
    `by` is the one chosen, `unit` that of the sums.  `systems` are all of the site.
    """

    generated_at: float
    systems: list[str]
    elements: int
    choices: dict[ByName, int]
    by: ByName | None
    unit: Literal["MB/s", "GB"]
    groups_total: int
    groups: list[ElementGroup]
    full_soon_total: int
    full_soon: list[FullSoon]
    monitor: MonitorSource
    knowledge_base: KnowledgeBaseSource


class ExporterOut(Answer):
    """One target of the monitor; an empty `target`: it watches these elements nowhere.

    `stale` have a last sample that is too old by now, `missing` never had one.
    """

    target: str
    elements: int
    ok: int
    stale: int
    missing: int
    oldest_seconds: float | None
    details: list[str]


class ExporterList(Answer):
    """Where the figures come from, those with trouble first; `total` counts those beyond the limit, too."""

    total: int
    exporters: list[ExporterOut]
    monitor: MonitorSource
    knowledge_base: KnowledgeBaseSource
