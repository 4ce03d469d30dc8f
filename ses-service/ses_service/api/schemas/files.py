"""Files: what each received, whether that is what was required, and sums of many."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from ses_client.messages.files import VerdictName

from ses_service.api.schemas.requests import ElementId, Path, Query, Text

Time = Annotated[float, Field(ge=0, le=1e11)]
_CURSOR = r"^(open|ended):[0-9]{1,12}\.[0-9]{1,20}:[0-9a-f]{0,16}$"


class FilesQuery(Query):
    """Which files: `path` is a part of it; `since` and `until` are about the end, seconds since the epoch.

    `after` is `next` of the page before.
    """

    user: Text | None = None
    application: Text | None = None
    vo: Text | None = None
    job: Text | None = None
    node: Text | None = None
    element: ElementId | None = None
    verdict: VerdictName | None = None
    path: Path | None = None
    since: Time | None = None
    until: Time | None = None
    state: Literal["open", "ended"] | None = None
    after: Annotated[str, Field(pattern=_CURSOR)] | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 50


class ReportQuery(Query):
    """Which files to sum up; times are those of their ends, seconds since the epoch."""

    user: Text | None = None
    application: Text | None = None
    vo: Text | None = None
    job: Text | None = None
    element: ElementId | None = None
    since: Time | None = None
    until: Time | None = None
