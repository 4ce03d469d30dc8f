"""Files: what each received, and whether that is what was required."""

from __future__ import annotations

from dataclasses import replace

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.files import FilePage, Received, Report

from ses_service.api import render, render_files
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import whose
from ses_service.api.contract import answers
from ses_service.api.problems import ForbiddenProblem
from ses_service.api.schemas.files import FilesQuery, ReportQuery
from ses_service.decision.report import report
from ses_service.decision.what_if import what_if
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.files import Wanted
from ses_service.process.files import Cursor
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Role

blueprint = APIBlueprint("files", __name__, tag="files")


@blueprint.get("/v1/files")
@allow(*PEOPLE)
@blueprint.input(FilesQuery, location="query")
@blueprint.doc(responses=answers(FilePage, 422))
def files(query_data: FilesQuery) -> Response:
    """List files with what each received

    A person sees their own.  Whether a requirement was met is known when a file ended: `met`, `nearly` (at
    least 80 % of it), `missed`, or `cannot-say`.
    """
    asked = query_data
    wanted = Wanted(
        whose(caller(), asked.user, "files"),
        asked.application,
        asked.vo,
        asked.job,
        asked.element,
        asked.node,
        None if asked.verdict is None else Verdict(asked.verdict),
        asked.path,
        asked.since,
        asked.until,
    )
    after = None if asked.after is None else Cursor.of(asked.after)
    listed, further = runtime().files.page(wanted, asked.state, after, asked.limit)
    body = FilePage(
        files=[render_files.file(file) for file in listed],
        next=None if further is None else str(further),
    )
    return render.answer(body)


@blueprint.get("/v1/files/<placement_id>")
@allow(*PEOPLE)
@blueprint.doc(responses=answers(Received, 404))
def file(placement_id: str) -> Response:
    """Say what a file received, kind by kind, and how that went over time"""
    record, detail = runtime().files.file(placement_id)
    who = caller()
    if who.role is Role.USER and record.user != who.user:
        raise ForbiddenProblem("This file belongs to somebody else.")
    return render.answer(render_files.file_record(record, detail))


@blueprint.get("/v1/report")
@allow(*PEOPLE)
@blueprint.input(ReportQuery, location="query")
@blueprint.doc(responses=answers(Report, 422))
def sums(query_data: ReportQuery) -> Response:
    """Sum up how often what was required was met

    By element, hour, application, job and kind, the worst first.  A person sees their own files.
    """
    asked = query_data
    wanted = Wanted(
        whose(caller(), asked.user, "files"),
        asked.application,
        asked.vo,
        asked.job,
        asked.element,
        since=asked.since,
        until=asked.until,
    )
    files = runtime().files
    groups, complete = files.groups(wanted)
    summed = report(groups)
    if summed.total.verdicts[Verdict.MISSED]:
        summed = replace(summed, advice=[*summed.advice, *what_if(files.misses(wanted))])
    return render.answer(render_files.report(summed, complete=complete))
