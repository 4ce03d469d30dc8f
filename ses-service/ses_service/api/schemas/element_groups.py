"""Elements by what is asked of them, in groups, and by the exporter that shows them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from ses_client.messages.element_groups import ByName

from ses_service.api.schemas.requests import Query, Text

Value = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ElementsWanted(Query):
    """Which elements; an empty `tier`, `server` or `pool` wants those without one."""

    system: Text | None = None
    tier: Value | None = None
    server: Value | None = None
    pool: Value | None = None
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0


class ElementQuery(ElementsWanted):
    """Which elements to list, how many, and how many of them to leave out first."""

    limit: Annotated[int, Field(ge=1, le=100_000)] | None = None


class GroupsQuery(ElementsWanted):
    """Which elements to sum up, and by what: without `by`, by what makes the most groups in `limit`."""

    by: ByName | None = None
    measure: Literal["write", "read", "free"] = "write"
    limit: Annotated[int, Field(ge=1, le=10_000)] = 400
    full_within_days: Annotated[float, Field(gt=0, le=3650)] = 30.0


class ExportersQuery(Query):
    """How many exporters to list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 200
