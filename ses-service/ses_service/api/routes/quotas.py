"""Quotas of users, groups and projects, and when they are used up."""

from typing import Annotated

from pydantic import Field
from ses_client.messages.quotas import KindOfQuota, Quota, QuotaPage, QuotaSource

from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import whose
from ses_service.api.schemas.requests import Query, Text
from ses_service.decision.quota_outlook import Foreseen, foreseen
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Role

area = Area("quotas", tag="elements")


class QuotasQuery(Query):
    """Which quotas to list: of a storage system, of a kind, or those that count for a user."""

    system: Text | None = None
    kind: KindOfQuota | None = None
    user: Text | None = None
    full_within_days: Annotated[float, Field(gt=0, le=3650)] | None = None
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50


@area.answers("GET /v1/quotas", QuotaPage, roles=PEOPLE, query=QuotasQuery)
def quotas(asked: QuotasQuery) -> QuotaPage:
    """List quotas and when they are used up

    As the file systems have them: this service limits nobody.  A person sees their own and their VO's.
    """
    now, user = runtime(), whose(caller(), asked.user, "quotas")
    environment = now.state.environment
    listed = [
        quota
        for quota in foreseen(now.quotas.seen, now.quotas.changes(), environment.member_groups)
        if asked.system in (None, quota.quota.system)
        and asked.kind in (None, quota.quota.kind)
        and (user is None or _counts_for(user, environment.home_vo.get(user), quota))
        and (
            asked.full_within_days is None
            or (quota.full_in is not None and quota.full_in <= asked.full_within_days)
        )
    ]
    sources = now.quotas.sources if caller().role is not Role.USER else ()
    return QuotaPage(
        total=len(listed),
        quotas=[_quota(quota) for quota in listed[asked.offset : asked.offset + asked.limit]],
        sources=[QuotaSource.like(source) for source in sources],
        problem=now.quotas.problem,
    )


def _quota(foreseen: Foreseen) -> Quota:
    quota = foreseen.quota
    return Quota(
        system=quota.system,
        kind=quota.kind,
        name=quota.name,
        vo=foreseen.vo or None,
        used_bytes=quota.used,
        limit_bytes=quota.limit,
        used_bytes_per_day=None if foreseen.change is None else round(foreseen.change),
        full_in_days=None if foreseen.full_in is None else round(foreseen.full_in, 2),
        sampled_at=quota.at,
    )


def _counts_for(user: str, vo: str | None, foreseen: Foreseen) -> bool:
    if foreseen.quota.kind == "user":
        return foreseen.quota.name == user
    return bool(foreseen.vo) and foreseen.vo == vo
