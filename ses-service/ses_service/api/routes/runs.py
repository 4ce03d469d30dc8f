"""``/v1/runs``: what people start in the portal, and their own ``ses serve-runs`` takes.

A run becomes a program that runs as its owner.  So only a portal starts one, which knows by a session who its
owner is, and only its owner takes it: no administrator does either for somebody else.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from ses_client.messages.runs import OPTION, NearRun, NearRuns, RunCounts, RunTaken

from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import must_name_a_person
from ses_service.api.problems import written
from ses_service.api.schemas.items import PLACEMENT_ID
from ses_service.api.schemas.requests import Body, Path, Text
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

area = Area("runs")

MAX_TEXT = 16_384
"""Characters of all words of a run together."""

MAX_ERRORS = 8_000

Id = Annotated[str, Field(pattern=PLACEMENT_ID)]
Word = Annotated[str, Field(max_length=8192, pattern=r"^[^\x00]*$")]
# What begins with a dash would be read as an option.
FilePattern = Annotated[str, Field(max_length=4096, pattern=r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")]
Option = Annotated[str, Field(pattern=f"^{OPTION}$", examples=["--memory=4GB"])]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class RunIn(Body):
    """A run that is started.  `run_id` is one the caller makes by chance: the same again starts no other."""

    run_id: Id
    files: Annotated[list[FilePattern], Field(min_length=1, max_length=100)]
    command: Annotated[list[Word], Field(min_length=1, max_length=200)]
    options: Annotated[list[Option], Field(max_length=20)]

    @model_validator(mode="after")
    def _makes_sense(self) -> RunIn:
        if "{}" not in self.command:
            raise ValueError("the command has no {}: write it where the names of the files belong")
        if sum(map(len, (*self.files, *self.command, *self.options))) > MAX_TEXT:
            raise ValueError(f"the run is longer than {MAX_TEXT} characters")
        return self


class RunTakeIn(Body):
    """Where what is taken will run."""

    node: Text
    directory: Path


class RunReportIn(Body):
    """What is known of a run; a member that is left out is as it was."""

    state: Literal["running", "ended", "stopped", "refused"]
    tasks: Count | None = None
    tasks_done: Count | None = None
    bytes_read: Count | None = None
    bytes_returned: Count | None = None
    exit_status: Annotated[int, Field(ge=0, le=255)] | None = None
    output: Path | None = None
    errors: Annotated[str, Field(max_length=MAX_ERRORS)] | None = None

    def known(self) -> dict[str, Any]:
        """Return what it says."""
        return self.model_dump(exclude={"state"}, exclude_none=True)


class RunStopIn(Body):
    """Nothing."""


@area.answers("GET /v1/runs", NearRuns, roles=(Role.USER, Role.PORTAL))
def listed() -> NearRuns:
    """List your runs, the latest first"""
    user, runs = _person(), runtime().runs
    return NearRuns(user=user, runs=runs.of(user), servers=runs.servers(user))


@area.answers("GET /v1/runs/counts", RunCounts, roles=(Role.PORTAL, Role.ADMIN))
def counts() -> RunCounts:
    """Count everybody's runs

    What they are only their owners see.
    """
    return RunCounts(users=runtime().runs.counts())


@area.answers("POST /v1/runs", NearRun, 409, roles=(Role.PORTAL,), body=RunIn)
def start(asked: RunIn) -> NearRun:
    """Start a run

    It waits until `ses serve-runs` of the person for whom the portal acts takes it.
    """
    run = NearRun(**asked.model_dump(), state="waiting", asked_at=runtime().state.now())
    with written("runs"):
        return runtime().runs.start(_person(), run)


@area.answers("POST /v1/runs/take", RunTaken, roles=(Role.USER,), body=RunTakeIn)
def take(asked: RunTakeIn) -> RunTaken:
    """Take the run of yours that has waited longest

    It is given out once.  Who takes it reports on it at least each minute, until it is over.
    """
    with written("runs"):
        return RunTaken(run=runtime().runs.take(_person(), asked.node, asked.directory))


@area.answers("POST /v1/runs/<run_id>/report", NearRun, 404, roles=(Role.USER,), body=RunReportIn)
def report(run_id: str, asked: RunReportIn) -> NearRun:
    """Report on a run that you took

    The answer says whether it is to be stopped.
    """
    with written("runs"):
        return runtime().runs.report(_person(), run_id, asked.state, asked.known())


@area.answers("POST /v1/runs/<run_id>/stop", NearRun, 404, roles=(Role.USER, Role.PORTAL), body=RunStopIn)
def stop(run_id: str, asked: RunStopIn) -> NearRun:  # noqa: ARG001
    """Stop a run of yours

    One that waits is stopped at once, one that runs by who runs it.
    """
    with written("runs"):
        return runtime().runs.stop(_person(), run_id)


def _person() -> str:
    must_name_a_person(caller())
    return caller().user or ""
