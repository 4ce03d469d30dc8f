"""Quotas of users, groups and projects, and when they are used up."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.quotas import Quota, QuotaPage, QuotaSource

from ses_service.api import render
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import whose
from ses_service.api.contract import answers
from ses_service.api.schemas.quotas import QuotasQuery
from ses_service.decision.quota_outlook import Foreseen, foreseen
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Role

blueprint = APIBlueprint("quotas", __name__, tag="elements")


@blueprint.get("/v1/quotas")
@allow(*PEOPLE)
@blueprint.input(QuotasQuery, location="query")
@blueprint.doc(responses=answers(QuotaPage, 422, 503))
def quotas(query_data: QuotasQuery) -> Response:
    """List quotas and when they are used up

    As the file systems have them: this service limits nobody.  A person sees their own and their VO's.
    """
    asked, now = query_data, runtime()
    user = whose(caller(), asked.user, "quotas")
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
    shows_sources = caller().role is not Role.USER
    return render.answer(
        QuotaPage(
            total=len(listed),
            quotas=[_quota(quota) for quota in listed[asked.offset : asked.offset + asked.limit]],
            sources=[
                QuotaSource(system=source.system, target=source.target, error=source.error)
                for source in now.quotas.sources
                if shows_sources
            ],
            problem=now.quotas.problem,
        )
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
