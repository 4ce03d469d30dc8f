"""Quotas, and when they are used up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import Answer, maybe_number


@dataclass(frozen=True, slots=True)
class Quota:
    """What a user, group or project may store in a storage system and has stored, in bytes.

    ``vo`` is the organisation whose members the group has.  ``used_per_day`` is how what is used grows;
    at that pace it is used up in ``full_in_days``, 0 when it is already.
    """

    system: str
    kind: str
    name: str
    vo: str
    used: float
    limit: float
    used_per_day: float | None
    full_in_days: float | None
    sampled_at: float

    @property
    def share(self) -> float:
        """The part that is used, 0 to 1."""
        return min(1.0, self.used / self.limit) if self.limit else 1.0

    @classmethod
    def of(cls, data: Any) -> Quota:
        """Make one from JSON."""
        return cls(
            system=str(data["system"]),
            kind=str(data["kind"]),
            name=str(data["name"]),
            vo=str(data.get("vo") or ""),
            used=float(data["used_bytes"]),
            limit=float(data["limit_bytes"]),
            used_per_day=maybe_number(data.get("used_bytes_per_day")),
            full_in_days=maybe_number(data.get("full_in_days")),
            sampled_at=float(data["sampled_at"]),
        )


@dataclass(frozen=True, slots=True)
class QuotaPage(Answer):
    """Some quotas out of ``total``, those that are used up first before the others.

    ``troubles`` are storage systems whose quotas are not seen, each with the reason.
    """

    quotas: tuple[Quota, ...]
    total: int
    systems: tuple[str, ...]
    troubles: tuple[tuple[str, str], ...]
    problem: str

    @classmethod
    def of(cls, data: Any) -> QuotaPage:
        """Make it from JSON."""
        sources = data.get("sources") or ()
        return cls(
            quotas=tuple(map(Quota.of, data["quotas"])),
            total=int(data["total"]),
            systems=tuple(str(one["system"]) for one in sources),
            troubles=tuple((str(one["system"]), str(one["error"])) for one in sources if one.get("error")),
            problem=str(data.get("problem") or ""),
        )
