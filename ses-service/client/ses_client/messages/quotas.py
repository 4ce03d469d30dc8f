"""Quotas, and when they are used up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Message

KindOfQuota = Literal["user", "group", "project"]


class Quota(Message):
    """What a user, group or project may store in a storage system, and has stored.

    `vo` is the organisation whose members the group has.  `used_bytes_per_day` is how what is used grows, by
    a line through the last weeks, null before a day of samples; at that pace it is used up in `full_in_days`:
    0 when it is already, null where it is not within ten years.
    """

    system: str
    kind: Annotated[str, KindOfQuota]
    name: str
    vo: str | None = None
    used_bytes: float
    limit_bytes: float
    used_bytes_per_day: float | None = None
    full_in_days: float | None = None
    sampled_at: float

    @property
    def share(self) -> float:
        """The part that is used, 0 to 1."""
        return min(1.0, self.used_bytes / self.limit_bytes) if self.limit_bytes else 1.0


class QuotaSource(Message):
    """Where the quotas of a storage system are seen, and why they are not newer; else `error` is empty."""

    system: str
    target: str = ""
    error: str = ""


class QuotaPage(Message):
    """Quotas, those that are used up first before the others; `total` counts those of all pages.

    `sources` are for administrators and portals.  `problem` says why the monitor could not be asked.
    """

    total: int
    quotas: Sequence[Quota]
    sources: Sequence[QuotaSource] = ()
    problem: str = ""
