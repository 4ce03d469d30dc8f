"""Which quotas there are, whose VO each is of, and when each is used up at the pace of late.  Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ses_service.decision.space_outlook import full_in
from ses_service.model.quotas import Quota


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A quota; ``vo`` is the organisation whose members the group has, empty where none.

    ``change`` is by how many bytes a day what is used grows, ``full_in`` in how many days it is used up:
    0 when it is already, ``None`` where neither is foreseen.
    """

    quota: Quota
    vo: str
    change: float | None
    full_in: float | None


def foreseen(
    quotas: Iterable[Quota], changes: Mapping[str, float], member_groups: Iterable[tuple[str, str]]
) -> list[Foreseen]:
    """Return quotas, those that are used up first before the others, these by the part that is used.

    ``changes`` say by key how what is left changes, in bytes a day.
    """
    vo_of = dict(member_groups)
    outlooks = []
    for quota in quotas:
        change = changes.get(quota.key)
        days = 0.0 if quota.left <= 0 else full_in(change, quota.left)
        vo = vo_of.get(quota.name, "") if quota.kind == "group" else ""
        outlooks.append(Foreseen(quota, vo, None if change is None else -change, days))
    return sorted(
        outlooks,
        key=lambda forecast: (
            forecast.full_in is None,
            forecast.full_in or 0.0,
            -forecast.quota.used / forecast.quota.limit,
            forecast.quota.key,
        ),
    )
