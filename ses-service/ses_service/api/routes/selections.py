"""``POST /v1/selections``: where would a file go?  Changes nothing."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.selections import Selection

from ses_service.api import operations
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import answers
from ses_service.api.schemas.requests import SelectionRequest
from ses_service.process.runtime import runtime

blueprint = APIBlueprint("selections", __name__, tag="selections")


@blueprint.post(operations.SELECT.route)
@allow(*operations.SELECT.roles, changes=False)
@blueprint.input(SelectionRequest)
@blueprint.doc(responses=answers(Selection, 503, body=True))
def select(json_data: SelectionRequest) -> Response:
    """Rank the elements for a subject

    Resolves the requirements that apply, refuses elements with a reason each, and ranks the rest by
    distance.  Changes nothing.
    """
    return operations.select(runtime(), caller(), json_data).response()
