"""What the ledger has learned about the sizes of files."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.files import SizeList

from ses_service.api import render
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import whose
from ses_service.api.contract import answers
from ses_service.api.schemas.ledger import SizesQuery
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE

blueprint = APIBlueprint("ledger", __name__, tag="ledger")


@blueprint.get("/v1/sizes")
@allow(*PEOPLE)
@blueprint.input(SizesQuery, location="query")
@blueprint.doc(responses=answers(SizeList, 422))
def sizes(query_data: SizesQuery) -> Response:
    """List the sizes files have had, by user, application and pattern of the path

    A person sees their own.  Where a request does not say how large its file will be, a size is counted on
    that few files of its pattern exceed, or else of its application.
    """
    user = whose(caller(), query_data.user, "sizes")
    entries = runtime().state.ledger.sizes(user, query_data.limit)
    return render.answer(SizeList(sizes=[render.sizes(key, sizes) for key, sizes in entries]))
