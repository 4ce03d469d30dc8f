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
        one
        for one in foreseen(now.quotas.seen, now.quotas.changes(), environment.member_groups)
        if asked.system in (None, one.quota.system)
        and asked.kind in (None, one.quota.kind)
        and (user is None or _counts_for(user, environment.home_vo.get(user), one))
        and (
            asked.full_within_days is None
            or (one.full_in is not None and one.full_in <= asked.full_within_days)
        )
    ]
    shows_sources = caller().role is not Role.USER
    return render.answer(
        QuotaPage(
            total=len(listed),
            quotas=[_quota(one) for one in listed[asked.offset : asked.offset + asked.limit]],
            sources=[
                QuotaSource(system=one.system, target=one.target, error=one.error)
                for one in now.quotas.sources
                if shows_sources
            ],
            problem=now.quotas.problem,
        )
    )


def _quota(one: Foreseen) -> Quota:
    quota = one.quota
    return Quota(
        system=quota.system,
        kind=quota.kind,
        name=quota.name,
        vo=one.vo or None,
        used_bytes=quota.used,
        limit_bytes=quota.limit,
        used_bytes_per_day=None if one.change is None else round(one.change),
        full_in_days=None if one.full_in is None else round(one.full_in, 2),
        sampled_at=quota.at,
    )


def _counts_for(user: str, vo: str | None, one: Foreseen) -> bool:
    if one.quota.kind == "user":
        return one.quota.name == user
    return bool(one.vo) and one.vo == vo
