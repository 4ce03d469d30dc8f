"""What is known of the sizes of files."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ses_service.api.schemas.answers import Answer
from ses_service.api.schemas.requests import Query, Text


class SizesQuery(Query):
    """Whose sizes to list; without a user everybody's."""

    user: Text | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class SizesOut(Answer):
    """What is known of the sizes of files that are alike; a decision counts on one that few of them exceed.

    `application` is null for programs without a name, `pattern` for all files of the application.
    """

    user: str
    application: str | None
    pattern: str | None
    count: int
    median_bytes: float
    last_bytes: float
    last_at: float


class SizeList(Answer):
    """Sizes of files, what was learned last first."""

    sizes: list[SizesOut]
