"""What is known of the sizes of files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ses_service.api.schemas.requests import Query, Text


class SizesQuery(Query):
    """Whose sizes to list; without a user everybody's."""

    user: Text | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
