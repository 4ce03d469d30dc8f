"""What files received: verdicts, figures, and how that went over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Message
from ses_client.visible import on_one_line

VerdictName = Literal["met", "nearly", "missed", "cannot-say"]
CauseName = Literal["program", "slow-element", "others", "foreseen", "client-or-network"]
_CAUSES = {
    "program": "the program waited elsewhere",
    "slow-element": "slower than described",
    "others": "others came",
    "foreseen": "no more was predicted",
    "client-or-network": "program, node or network",
}


def cause_words(cause: str | None) -> str:
    """Return a likely cause as people read it; empty for none."""
    return "" if cause is None else _CAUSES.get(cause, cause)


class File(Message):
    """One file.  `verdict` null: nothing was required, or it is open.

    `kind`, `required`, `predicted` and `achieved` are those of the kind that decided, in `unit`.
    """

    placement_id: str
    state: Annotated[str, Literal["open", "ended"]]
    user: str
    application: str | None = None
    vo: str | None = None
    job: str | None = None
    node: str | None = None
    element: str
    path: str | None = None
    opened_at: float = 0.0
    ended_at: float | None = None
    end_reason: str | None = None
    bytes_written: float | None = None
    bytes_read: float | None = None
    write_mb_s: float | None = None
    read_mb_s: float | None = None
    verdict: Annotated[str, VerdictName] | None = None
    cause: Annotated[str, CauseName] | None = None
    kind: str | None = None
    unit: str | None = None
    required: float | None = None
    predicted: float | None = None
    achieved: float | None = None


COLUMNS = tuple(File.__annotations__)
_FORMULA = tuple("=+-@＝＋－＠")  # spreadsheets take the wide ones, too


def csv_cell(value: object) -> object:
    """Return a value; text stays on one line, with an apostrophe where a spreadsheet would see a formula."""
    if not isinstance(value, str):
        return value
    return f"'{on_one_line(value)}" if value.lstrip().startswith(_FORMULA) else on_one_line(value)


class FilePage(Message):
    """Files, open ones first, then the latest end first.  `next`: for `after`; null: that was all.

    A page may be short where much was looked at; go on as long as `next` is there.
    """

    files: Sequence[File]
    next: str | None = None


class ReceivedKind(Message):
    """One kind that was required, in its unit: what was required, predicted and achieved.

    `at_least` is what is certain of `achieved`: what was written may be in memory only.
    """

    kind: str
    unit: str
    required: float
    predicted: float | None = None
    achieved: float | None = None
    at_least: float | None = None
    verdict: Annotated[str, VerdictName]
    why: str


class Received(File):
    """All that is known of a file.  Null: its agent did not follow it.

    `samples` are seconds since the create, bytes written and bytes read until then; `load` is seconds since
    the create, the part of its element that was busy (-1: unknown) and the streams placed there.
    """

    why: str = ""
    kinds: Sequence[ReceivedKind]
    doubts: Sequence[str] = ()
    writing_seconds: float | None = None
    reading_seconds: float | None = None
    open_seconds: float | None = None
    bytes_on_device: float | None = None
    samples: Sequence[Sequence[float]] = ()
    load: Sequence[Sequence[float]] = ()


class Sum(Message):
    """Files under one name.  `shortfall` is the mean part missed; `met_ratio` null: none can be judged.

    `of_forecast`: the mean of what they got over what was predicted when they were created, of the
    `forecast_files` of them that can be judged: whose program neither waited nor got all it required.
    """

    name: str
    files: int
    met: int
    nearly: int
    missed: int
    cannot_say: int
    met_ratio: float | None = None
    shortfall: float
    forecast_files: int = 0
    of_forecast: float | None = None


class Cause(Message):
    """How many files have a likely cause."""

    cause: Annotated[str, CauseName]
    files: int


class Report(Message):
    """Sums: worst first; `hours` by their beginning, in seconds since the epoch.

    `complete` false: only the latest files were looked at.  `advice`: what another requirement or setting of
    the application would do.
    """

    complete: bool
    total: Sum
    elements: Sequence[Sum]
    applications: Sequence[Sum]
    jobs: Sequence[Sum] = ()
    users: Sequence[Sum] = ()
    vos: Sequence[Sum] = ()
    hours: Sequence[Sum] = ()
    kinds: Sequence[Sum] = ()
    causes: Sequence[Cause] = ()
    advice: Sequence[str] = ()


class Sizes(Message):
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


class SizeList(Message):
    """Sizes of files, what was learned last first."""

    sizes: Sequence[Sizes]
