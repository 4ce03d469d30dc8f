"""Files: what each received, whether that is what was required, and sums of many."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ses_service.api.schemas.answers import Answer
from ses_service.api.schemas.requests import ElementId, Path, Query, Text

VerdictName = Literal["met", "nearly", "missed", "cannot-say"]
CauseName = Literal["program", "slow-element", "others", "foreseen", "client-or-network"]
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


class JudgedOut(Answer):
    """One kind that was required, in its unit: what was required, predicted and achieved.

    `at_least` is what is certain of `achieved`: what was written may be in memory only.
    """

    kind: str
    unit: str
    required: float
    predicted: float | None
    achieved: float | None
    at_least: float | None
    verdict: VerdictName
    why: str


class FileOut(Answer):
    """One file.  `verdict` null: nothing was required, or it is open.

    `kind`, `required`, `predicted` and `achieved` are those of the kind that decided, in `unit`.
    """

    placement_id: str
    state: Literal["open", "ended"]
    user: str
    application: str | None
    vo: str | None
    job: str | None
    node: str | None
    element: str
    path: str | None
    opened_at: float
    ended_at: float | None
    end_reason: str | None
    bytes_written: float | None
    bytes_read: float | None
    write_mb_s: float | None
    read_mb_s: float | None
    verdict: VerdictName | None
    cause: CauseName | None
    kind: str | None
    unit: str | None
    required: float | None
    predicted: float | None
    achieved: float | None


class FileList(Answer):
    """Files, open ones first, then the latest end first.  `next`: for `after`; null: that was all.

    A page may be short where much was looked at; go on as long as `next` is there.
    """

    files: list[FileOut]
    next: str | None


class FileRecord(FileOut):
    """All that is known of a file.  Null: its agent did not follow it.

    `samples` are seconds since the create, bytes written and bytes read until then; `load` is seconds since
    the create, the part of its element that was busy (-1: unknown) and the streams placed there.
    """

    why: str
    kinds: list[JudgedOut]
    doubts: list[str]
    writing_seconds: float | None
    reading_seconds: float | None
    open_seconds: float | None
    bytes_on_device: float | None
    samples: list[list[float]]
    load: list[list[float]]


class SumOut(Answer):
    """Files under one name.  `shortfall` is the mean part missed; `met_ratio` null: none can be judged.

    `of_forecast`: the mean of what they got over what was predicted when they were created, of the
    `forecast_files` of them that tell: whose program neither waited nor got all it required.
    """

    name: str
    files: int
    met: int
    nearly: int
    missed: int
    cannot_say: int
    met_ratio: float | None
    shortfall: float
    forecast_files: int
    of_forecast: float | None


class CauseOut(Answer):
    """How many files have a likely cause."""

    cause: CauseName
    files: int


class ReportOut(Answer):
    """Sums: worst first; `hours` by their beginning, in seconds since the epoch.

    `complete` false: only the latest files were looked at.  `advice`: what another requirement or setting of
    the application would do.
    """

    complete: bool
    total: SumOut
    elements: list[SumOut]
    applications: list[SumOut]
    jobs: list[SumOut]
    users: list[SumOut]
    vos: list[SumOut]
    hours: list[SumOut]
    kinds: list[SumOut]
    causes: list[CauseOut]
    advice: list[str]
