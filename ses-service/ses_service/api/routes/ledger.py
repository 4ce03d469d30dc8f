"""What the ledger has learned about the sizes of files."""

from typing import Annotated

from pydantic import Field
from ses_client.messages.files import SizeList

from ses_service.api import render
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import whose
from ses_service.api.schemas.requests import Query, Text
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE

area = Area("ledger")


class SizesQuery(Query):
    """Whose sizes to list; without a user everybody's."""

    user: Text | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


@area.answers("GET /v1/sizes", SizeList, roles=PEOPLE, query=SizesQuery)
def sizes(asked: SizesQuery) -> SizeList:
    """List the sizes files have had, by user, application and pattern of the path

    A person sees their own.  Where a request does not say how large its file will be, a size is counted on
    that few files of its pattern exceed, or else of its application.
    """
    user = whose(caller(), asked.user, "sizes")
    entries = runtime().state.ledger.sizes(user, asked.limit)
    return SizeList(sizes=[render.sizes(key, sizes) for key, sizes in entries])
