"""Files: what each received, and whether that is what was required."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field
from ses_client.messages.files import FilePage, Received, Report, VerdictName

from ses_service.api import render_files
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import whose
from ses_service.api.problems import ForbiddenProblem
from ses_service.api.schemas.requests import ElementId, Path, Query, Text
from ses_service.decision.report import report
from ses_service.decision.what_if import what_if
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.files import Wanted
from ses_service.process.files import Cursor
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Role

area = Area("files")

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


@area.answers("GET /v1/files", FilePage, roles=PEOPLE, query=FilesQuery)
def files(asked: FilesQuery) -> FilePage:
    """List files with what each received

    A person sees their own.  Whether a requirement was met is known when a file ended: `met`, `nearly` (at
    least 80 % of it), `missed`, or `cannot-say`.
    """
    verdict = None if asked.verdict is None else Verdict(asked.verdict)
    wanted = replace(_wanted(asked), node=asked.node, verdict=verdict, path=asked.path)
    after = None if asked.after is None else Cursor.of(asked.after)
    listed, further = runtime().files.page(wanted, asked.state, after, asked.limit)
    return FilePage(
        files=[render_files.file(file) for file in listed],
        next=None if further is None else str(further),
    )


@area.answers("GET /v1/files/<placement_id>", Received, 404, roles=PEOPLE)
def file(placement_id: str) -> Received:
    """Say what a file received, kind by kind, and how that went over time"""
    record, detail = runtime().files.file(placement_id)
    who = caller()
    if who.role is Role.USER and record.user != who.user:
        raise ForbiddenProblem("This file belongs to somebody else.")
    return render_files.file_record(record, detail)


@area.answers("GET /v1/report", Report, roles=PEOPLE, query=ReportQuery)
def sums(asked: ReportQuery) -> Report:
    """Sum up how often what was required was met

    By element, hour, application, job and kind, the worst first.  A person sees their own files.
    """
    wanted, files = _wanted(asked), runtime().files
    groups, complete = files.groups(wanted)
    summed = report(groups)
    if summed.total.verdicts[Verdict.MISSED]:
        summed = replace(summed, advice=[*summed.advice, *what_if(files.misses(wanted))])
    return render_files.report(summed, complete=complete)


def _wanted(asked: FilesQuery | ReportQuery) -> Wanted:
    return Wanted(
        whose(caller(), asked.user, "files"),
        asked.application,
        asked.vo,
        asked.job,
        asked.element,
        since=asked.since,
        until=asked.until,
    )
