"""What files received: verdicts, figures, and how that went over time.

Rates are in the unit that comes with them, times seconds since the epoch; ``None`` is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from ses_client.answers.reading import Answer, At, Part
from ses_client.visible import on_one_line

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


@dataclass(frozen=True, slots=True)
class File(Part):
    """One file of a list, its members named as in the contract."""

    placement_id: str
    state: str
    user: str
    application: str | None
    vo: str | None
    job: str | None
    node: str | None
    element: str
    path: str | None
    opened_at: float | None
    ended_at: float | None
    end_reason: str | None
    bytes_written: float | None
    bytes_read: float | None
    write_mb_s: float | None
    read_mb_s: float | None
    verdict: str | None
    cause: str | None
    kind: str | None
    unit: str | None
    required: float | None
    predicted: float | None
    achieved: float | None


COLUMNS = tuple(one.name for one in fields(File))
_FORMULA = tuple("=+-@＝＋－＠")  # spreadsheets take the wide ones, too


def csv_cell(value: object) -> object:
    """Return a value; text stays on one line, with an apostrophe where a spreadsheet would see a formula."""
    if not isinstance(value, str):
        return value
    return f"'{on_one_line(value)}" if value.lstrip().startswith(_FORMULA) else on_one_line(value)


@dataclass(frozen=True, slots=True)
class FilePage(Answer):
    """Some files, open ones first, then the latest end first; ``next`` is where the list goes on."""

    files: tuple[File, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Sum(Part):
    """Files under one name; ``met_ratio`` is of those judged, ``shortfall`` the mean part missed, 0 to 1.

    ``of_forecast``: the mean of got over predicted of ``forecast_files``, which neither waited nor got all
    they required.
    """

    name: str
    files: int
    met: int
    nearly: int
    missed: int
    cannot_say: int
    met_ratio: float | None
    shortfall: float
    forecast_files: int = 0
    of_forecast: float | None = None


def _causes(found: Any) -> tuple[tuple[str, int], ...]:
    return tuple((str(one["cause"]), int(one["files"])) for one in found)


@dataclass(frozen=True, slots=True)
class Report(Answer):
    """Sums of files, the worst first; ``complete`` false: only the latest files were looked at."""

    complete: bool
    total: Sum
    elements: tuple[Sum, ...]
    applications: tuple[Sum, ...]
    jobs: tuple[Sum, ...] = ()
    users: tuple[Sum, ...] = ()
    vos: tuple[Sum, ...] = ()
    hours: tuple[Sum, ...] = ()
    causes: Annotated[tuple[tuple[str, int], ...], At("causes", _causes)] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReceivedKind(Part):
    """One kind that was required, in its unit; ``None`` is unknown."""

    kind: str
    unit: str
    required: float
    predicted: float | None
    achieved: float | None
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Received(Answer):
    """What one file received; ``file`` is its row of a list.

    ``samples`` are seconds since the create, bytes written and bytes read; ``load`` is seconds since the
    create, the part of its element that was busy (-1: unknown) and the streams placed there.
    """

    file: Annotated[File, At("")]
    why: str
    kinds: tuple[ReceivedKind, ...]
    doubts: tuple[str, ...] = ()
    samples: tuple[tuple[float, float, float], ...] = ()
    load: tuple[tuple[float, float, float], ...] = ()

    @property
    def verdict(self) -> str | None:
        """What became of what was required."""
        return self.file.verdict
