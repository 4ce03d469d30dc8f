"""What files received: verdicts, figures, and how that went over time.

Rates are in the unit that comes with them, times seconds since the epoch; ``None`` is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ses_client.answers.reading import Answer, maybe_number, maybe_text, number, texts

_CAUSES = {
    "program": "the program waited elsewhere",
    "slow-element": "slower than described",
    "others": "others came",
    "foreseen": "no more was predicted",
    "client-or-network": "program, node or network",
}
_TEXTS = frozenset({"placement_id", "state", "user", "element"})
_NUMBERS = frozenset(
    {
        *("opened_at", "ended_at", "bytes_written", "bytes_read", "write_mb_s", "read_mb_s"),
        *("required", "predicted", "achieved"),
    }
)


def cause_words(cause: str | None) -> str:
    """Return a likely cause as people read it; empty for none."""
    return "" if cause is None else _CAUSES.get(cause, cause)


@dataclass(frozen=True, slots=True)
class File:
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

    @classmethod
    def of(cls, data: Any) -> File:
        """Make one from JSON."""
        return cls(**{name: _member(name, data[name]) for name in COLUMNS})


COLUMNS = tuple(one.name for one in fields(File))


@dataclass(frozen=True, slots=True)
class FilePage(Answer):
    """Some files, open ones first, then the latest end first; ``next`` is where the list goes on."""

    files: tuple[File, ...]
    next: str | None

    @classmethod
    def of(cls, data: Any) -> FilePage:
        """Make it from JSON."""
        return cls(tuple(map(File.of, data["files"])), maybe_text(data["next"]))


@dataclass(frozen=True, slots=True)
class Sum:
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

    @classmethod
    def of(cls, data: Any) -> Sum:
        """Make one from JSON."""
        return cls(
            name=str(data["name"]),
            files=int(data["files"]),
            met=int(data["met"]),
            nearly=int(data["nearly"]),
            missed=int(data["missed"]),
            cannot_say=int(data["cannot_say"]),
            met_ratio=maybe_number(data["met_ratio"]),
            shortfall=number(data["shortfall"]),
            forecast_files=int(data.get("forecast_files", 0)),
            of_forecast=maybe_number(data.get("of_forecast")),
        )


@dataclass(frozen=True, slots=True)
class Report(Answer):
    """Sums of files, the worst first; ``complete`` false: only the latest files were looked at."""

    complete: bool
    total: Sum
    elements: tuple[Sum, ...]
    applications: tuple[Sum, ...]
    jobs: tuple[Sum, ...] = ()
    hours: tuple[Sum, ...] = ()
    causes: tuple[tuple[str, int], ...] = ()
    advice: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any) -> Report:
        """Make it from JSON."""
        return cls(
            complete=bool(data["complete"]),
            total=Sum.of(data["total"]),
            elements=tuple(map(Sum.of, data["elements"])),
            applications=tuple(map(Sum.of, data["applications"])),
            jobs=tuple(map(Sum.of, data.get("jobs") or ())),
            hours=tuple(map(Sum.of, data.get("hours") or ())),
            causes=tuple((str(one["cause"]), int(one["files"])) for one in data["causes"]),
            advice=texts(data["advice"]),
        )


@dataclass(frozen=True, slots=True)
class ReceivedKind:
    """One kind that was required, in its unit; ``None`` is unknown."""

    kind: str
    unit: str
    required: float
    predicted: float | None
    achieved: float | None
    verdict: str
    why: str

    @classmethod
    def of(cls, data: Any) -> ReceivedKind:
        """Make one from JSON."""
        return cls(
            kind=str(data["kind"]),
            unit=str(data["unit"]),
            required=number(data["required"]),
            predicted=maybe_number(data["predicted"]),
            achieved=maybe_number(data["achieved"]),
            verdict=str(data["verdict"]),
            why=str(data["why"]),
        )


@dataclass(frozen=True, slots=True)
class Received(Answer):
    """What one file received; ``file`` is its row of a list.

    ``samples`` are seconds since the create, bytes written and bytes read; ``load`` is seconds since the
    create, the part of its element that was busy (-1: unknown) and the streams placed there.
    """

    file: File
    why: str
    kinds: tuple[ReceivedKind, ...]
    doubts: tuple[str, ...]
    samples: tuple[tuple[float, float, float], ...]
    load: tuple[tuple[float, float, float], ...]

    @property
    def verdict(self) -> str | None:
        """What became of what was required."""
        return self.file.verdict

    @classmethod
    def of(cls, data: Any) -> Received:
        """Make it from JSON."""
        return cls(
            File.of(data),
            str(data["why"]),
            tuple(map(ReceivedKind.of, data["kinds"])),
            texts(data.get("doubts")),
            tuple(map(_point, data.get("samples") or ())),
            tuple(map(_point, data.get("load") or ())),
        )


def _member(name: str, value: Any) -> Any:
    if value is None and name not in _TEXTS:
        return None
    return number(value) if name in _NUMBERS else str(value)


def _point(data: Any) -> tuple[float, float, float]:
    first, second, third = data
    return float(first), float(second), float(third)
