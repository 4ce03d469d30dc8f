"""Quotas, and when they are used up."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ses_service.api.schemas.answers import Answer
from ses_service.api.schemas.requests import Query, Text

KindOfQuota = Literal["user", "group", "project"]


class QuotasQuery(Query):
    """Which quotas to list: of a storage system, of a kind, or those that count for a user."""

    system: Text | None = None
    kind: KindOfQuota | None = None
    user: Text | None = None
    full_within_days: Annotated[float, Field(gt=0, le=3650)] | None = None
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50


class QuotaOut(Answer):
    """What a user, group or project may store in a storage system, and has stored.

    `vo` is the organisation whose members the group has.  `used_bytes_per_day` is how what is used grows, by
    a line through the last weeks, null before a day of samples; at that pace it is used up in `full_in_days`:
    0 when it is already, null where it is not within ten years.
    """

    system: str
    kind: KindOfQuota
    name: str
    vo: str | None
    used_bytes: float
    limit_bytes: float
    used_bytes_per_day: float | None
    full_in_days: float | None
    sampled_at: float


class QuotaSourceOut(Answer):
    """Where the quotas of a storage system are seen, and why they are not newer; else `error` is empty."""

    system: str
    target: str
    error: str


class QuotaList(Answer):
    """Quotas, those that are used up first before the others; `total` counts those of all pages.

    `sources` are for administrators and portals.  `problem` says why the monitor could not be asked.
    """

    total: int
    quotas: list[QuotaOut]
    sources: list[QuotaSourceOut]
    problem: str
