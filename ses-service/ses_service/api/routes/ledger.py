"""The ledger between services, and what it has learned about the sizes of files."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from ses_service.api import render
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import failures
from ses_service.api.problems import ForbiddenProblem
from ses_service.api.schemas.ledger import ChangesTaken, LedgerChanges, SizeList, SizesQuery
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Role

blueprint = APIBlueprint("ledger", __name__, tag="ledger")


@blueprint.post("/v1/ledger/changes")
@allow(Role.PEER, Role.ADMIN)
@blueprint.input(LedgerChanges)
@blueprint.output(ChangesTaken)
@blueprint.doc(responses=failures(body=True))
def changes(json_data: LedgerChanges) -> Response:
    """Take what another service carries

    It counts like our own until that service says otherwise or is silent for 10 s, and is passed on to
    nobody.
    """
    now = runtime()
    taken = json_data.origin == now.instance or now.state.ledger.take_changes(
        json_data.origin,
        json_data.sequence,
        full=json_data.full,
        changes=[one.to_model() for one in json_data.changes],
    )
    return render.answer({"instance": now.instance, "resync": not taken})


@blueprint.get("/v1/sizes")
@allow(*PEOPLE)
@blueprint.input(SizesQuery, location="query")
@blueprint.output(SizeList)
@blueprint.doc(responses=failures(422))
def sizes(query_data: SizesQuery) -> Response:
    """List the sizes files have had, by user, application and pattern of the path

    A person sees their own.  Where a request does not say how large its file will be, the median of its
    pattern is counted on, or that of its application.
    """
    who, user = caller(), query_data.user
    if who.role is Role.USER:
        if user not in (None, who.user):
            raise ForbiddenProblem("These sizes belong to somebody else.")
        user = who.user
    found = runtime().state.ledger.sizes(user, query_data.limit)
    return render.answer({"sizes": [render.sizes(key, one) for key, one in found]})
