"""Quotas, and when they are used up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ses_client.answers.reading import Answer, At, Part, text


@dataclass(frozen=True, slots=True)
class Quota(Part):
    """What a user, group or project may store in a storage system and has stored, in bytes.

    ``vo`` is the organisation whose members the group has.  ``used_per_day`` is how what is used grows;
    at that pace it is used up in ``full_in_days``, 0 when it is already.
    """

    system: str
    kind: str
    name: str
    vo: Annotated[str, At("vo", text)]
    used: Annotated[float, At("used_bytes")]
    limit: Annotated[float, At("limit_bytes")]
    used_per_day: Annotated[float | None, At("used_bytes_per_day")]
    full_in_days: float | None
    sampled_at: float

    @property
    def share(self) -> float:
        """The part that is used, 0 to 1."""
        return min(1.0, self.used / self.limit) if self.limit else 1.0


def _systems(sources: Any) -> tuple[str, ...]:
    return tuple(str(one["system"]) for one in sources or ())


def _troubles(sources: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(one["system"]), str(one["error"])) for one in sources or () if one.get("error"))


@dataclass(frozen=True, slots=True)
class QuotaPage(Answer):
    """Some quotas out of ``total``, those that are used up first before the others.

    ``troubles`` are storage systems whose quotas are not seen, each with the reason.
    """

    quotas: tuple[Quota, ...]
    total: int
    systems: Annotated[tuple[str, ...], At("sources", _systems)]
    troubles: Annotated[tuple[tuple[str, str], ...], At("sources", _troubles)]
    problem: Annotated[str, At("problem", text)]
