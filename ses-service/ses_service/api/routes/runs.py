"""``/v1/runs``: what people start in the portal, and their own ``ses serve-runs`` takes.

A run becomes a program that runs as its owner.  So only a portal starts one, which knows by a session who its
owner is, and only its owner takes it: no administrator does either for somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.runs import NearRun, NearRuns, RunCounts, RunTaken

from ses_service.api import render
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import must_name_a_person
from ses_service.api.contract import answers
from ses_service.api.problems import NotFoundProblem, NotKeptProblem, TooManyRunsProblem
from ses_service.api.schemas.runs import RunIn, RunReportIn, RunStopIn, RunTakeIn
from ses_service.process.runs import MAX_OPEN, TooManyRunsError, UnknownRunError
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

blueprint = APIBlueprint("runs", __name__, tag="runs")


@blueprint.get("/v1/runs")
@allow(Role.USER, Role.PORTAL)
@blueprint.doc(responses=answers(NearRuns))
def listed() -> Response:
    """List your runs, the latest first"""
    user, runs = _person(), runtime().runs
    return render.answer(NearRuns(user=user, runs=runs.of(user), servers=runs.servers(user)))


@blueprint.get("/v1/runs/counts")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.doc(responses=answers(RunCounts))
def counts() -> Response:
    """Count everybody's runs

    What they are only their owners see.
    """
    return render.answer(RunCounts(users=runtime().runs.counts()))


@blueprint.post("/v1/runs")
@allow(Role.PORTAL)
@blueprint.input(RunIn)
@blueprint.doc(responses=answers(NearRun, 409, body=True))
def start(json_data: RunIn) -> Response:
    """Start a run

    It waits until `ses serve-runs` of the person for whom the portal acts takes it.
    """
    with _problems():
        run = NearRun(**json_data.model_dump(), state="waiting", asked_at=runtime().state.now())
        return render.answer(runtime().runs.start(_person(), run))


@blueprint.post("/v1/runs/take")
@allow(Role.USER)
@blueprint.input(RunTakeIn)
@blueprint.doc(responses=answers(RunTaken, body=True))
def take(json_data: RunTakeIn) -> Response:
    """Take the run of yours that has waited longest

    It is given out once.  Who takes it reports on it at least each minute, until it is over.
    """
    with _problems():
        taken = runtime().runs.take(_person(), json_data.node, json_data.directory)
    return render.answer(RunTaken(run=taken))


@blueprint.post("/v1/runs/<run_id>/report")
@allow(Role.USER)
@blueprint.input(RunReportIn)
@blueprint.doc(responses=answers(NearRun, 404, body=True))
def report(run_id: str, json_data: RunReportIn) -> Response:
    """Report on a run that you took

    The answer says whether it is to be stopped.
    """
    with _problems():
        known = runtime().runs.report(_person(), run_id, json_data.state, json_data.known())
    return render.answer(known)


@blueprint.post("/v1/runs/<run_id>/stop")
@allow(Role.USER, Role.PORTAL)
@blueprint.input(RunStopIn)
@blueprint.doc(responses=answers(NearRun, 404, body=True))
def stop(run_id: str, json_data: RunStopIn) -> Response:  # noqa: ARG001
    """Stop a run of yours

    One that waits is stopped at once, one that runs by who runs it.
    """
    with _problems():
        return render.answer(runtime().runs.stop(_person(), run_id))


def _person() -> str:
    must_name_a_person(caller())
    return caller().user or ""


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except UnknownRunError as error:
        raise NotFoundProblem(f"You have no run {error}.") from None
    except TooManyRunsError:
        raise TooManyRunsProblem(f"You have {MAX_OPEN} runs that wait or run; stop one first.") from None
    except OSError as error:
        raise NotKeptProblem(
            f"The service cannot write its runs: {error.strerror}.", headers={"Retry-After": "60"}
        ) from None
