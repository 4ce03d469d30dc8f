"""``POST /v1/selections``: where would a file go?  Changes nothing."""

from ses_client.messages.selections import Selection

from ses_service.api import operations
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.render import Reply
from ses_service.api.schemas.requests import SelectionRequest
from ses_service.process.runtime import runtime

area = Area("selections")


@area.answers(
    f"POST {operations.SELECT.route}",
    Selection,
    roles=operations.SELECT.roles,
    body=SelectionRequest,
    changes=False,
)
def select(asked: SelectionRequest) -> Reply:
    """Rank the elements for a subject

    Resolves the requirements that apply, refuses elements with a reason each, and ranks the rest by
    distance.  Changes nothing.
    """
    return operations.select(runtime(), caller(), asked)
