"""Runs: what people start in the portal, and a process of their own runs near the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Absent, Message

OPTION = (
    r"--(?:(?:memory|piece)=[0-9][0-9.]* ?[A-Za-z]{0,3}|cpus=[0-9.]{1,9}|"
    r"(?:per-endpoint|retries|shuffle|io-weight)=[0-9]{1,5}|(?:reduce|into)=[^\x00-\x1f\x7f]{1,4096}|force)"
)
"""The options of ``ses map-near`` that a run may have: none that says how nodes are reached."""


class NearRun(Message):
    """A run: files (names or patterns), words of a command with `{}` for the files, `--name=value` options.

    `node` and `directory` are where it runs.  `lost`: who took it has not reported for a minute; it is not
    run again.  `refused`: who took it does not run this; `errors` says why.  `stop`: it is to be stopped.
    `tasks` is how many there are; `bytes_read` is of those done.  `output` is the name of the file there with
    what it printed, and `errors` the last lines of its standard error.
    What is not known yet is absent.
    """

    run_id: str
    state: Annotated[str, Literal["waiting", "running", "ended", "stopped", "refused", "lost"]]
    files: Sequence[str]
    command: Sequence[str]
    options: Sequence[str]
    asked_at: float
    stop: Absent[bool] = None
    node: Absent[str] = None
    directory: Absent[str] = None
    began_at: Absent[float] = None
    reported_at: Absent[float] = None
    ended_at: Absent[float] = None
    tasks: Absent[int] = None
    tasks_done: Absent[int] = None
    bytes_read: Absent[int] = None
    bytes_returned: Absent[int] = None
    exit_status: Absent[int] = None
    output: Absent[str] = None
    errors: Absent[str] = None


class RunServer(Message):
    """A `ses serve-runs`: the node and the directory where it runs what its owner starts."""

    node: str
    directory: str
    seen_at: float


class NearRuns(Message):
    """A person's runs, the latest first, and who serves them now."""

    user: str
    runs: Sequence[NearRun]
    servers: Sequence[RunServer]


class RunTaken(Message):
    """The run that was taken; null: none waits."""

    run: NearRun | None = None


class RunCount(Message):
    """How many runs somebody has, and whether anything serves them."""

    user: str
    waiting: int
    running: int
    over: int
    served: bool


class RunCounts(Message):
    """How many runs there are, by user."""

    users: Sequence[RunCount]
