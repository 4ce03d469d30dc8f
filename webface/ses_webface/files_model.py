"""What files received, as the service's contract says it: verdicts, figures, and how that went over time.

Rates are in the unit that comes with them, times seconds since the epoch; ``None`` is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

_WORDS = {"met": "met", "nearly": "nearly met", "missed": "missed", "cannot-say": "cannot say"}
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


def verdict_words(verdict: str | None) -> str:
    """Return a verdict as people read it; empty for none."""
    return "" if verdict is None else _WORDS.get(verdict, verdict)


def cause_words(cause: str | None) -> str:
    """Return a likely cause as people read it; empty for none."""
    return "" if cause is None else _CAUSES.get(cause, cause)


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which files to list or sum up; ``None`` does not filter.

    ``path`` is a part of a path; ``since`` and ``until`` are about the end.
    """

    user: str | None = None
    application: str | None = None
    vo: str | None = None
    job: str | None = None
    element: str | None = None
    state: str | None = None
    verdict: str | None = None
    path: str | None = None
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class FileRow:
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
    def read(cls, data: Mapping[str, Any]) -> FileRow:
        """Read the contract's file."""
        return cls(**{name: _member(name, data[name]) for name in COLUMNS})


COLUMNS = tuple(one.name for one in fields(FileRow))


@dataclass(frozen=True, slots=True)
class FilePage:
    """Some files, open ones first, then the latest end first; ``next`` is where the list goes on."""

    files: tuple[FileRow, ...]
    next: str | None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> FilePage:
        """Read the contract's list."""
        further = data["next"]
        return cls(tuple(map(FileRow.read, data["files"])), None if further is None else str(further))


@dataclass(frozen=True, slots=True)
class Sum:
    """Files under one name; ``met_ratio`` is of those judged, ``shortfall`` the mean part missed, 0 to 1."""

    name: str
    files: int
    met: int
    nearly: int
    missed: int
    cannot_say: int
    met_ratio: float | None
    shortfall: float

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Sum:
        """Read the contract's sum."""
        ratio = data["met_ratio"]
        return cls(
            str(data["name"]),
            int(data["files"]),
            int(data["met"]),
            int(data["nearly"]),
            int(data["missed"]),
            int(data["cannot_say"]),
            None if ratio is None else float(ratio),
            float(data["shortfall"]),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """Sums of files, the worst first; ``complete`` false: only the latest files were looked at."""

    complete: bool
    total: Sum
    jobs: tuple[Sum, ...]
    applications: tuple[Sum, ...]
    elements: tuple[Sum, ...]
    causes: tuple[tuple[str, int], ...]
    advice: tuple[str, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Report:
        """Read the contract's report."""
        return cls(
            bool(data["complete"]),
            Sum.read(data["total"]),
            tuple(map(Sum.read, data.get("jobs", ()))),
            tuple(map(Sum.read, data["applications"])),
            tuple(map(Sum.read, data["elements"])),
            tuple((str(one["cause"]), int(one["files"])) for one in data["causes"]),
            tuple(map(str, data["advice"])),
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

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return verdict_words(self.verdict)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> ReceivedKind:
        """Read the contract's judged kind."""
        return cls(
            str(data["kind"]),
            str(data["unit"]),
            float(data["required"]),
            data["predicted"],
            data["achieved"],
            str(data["verdict"]),
            str(data["why"]),
        )


@dataclass(frozen=True, slots=True)
class Received:
    """What one file received; ``file`` is its row of a list.

    ``samples`` are seconds since the create, bytes written and bytes read; ``load`` is seconds since the
    create, the part of its element that was busy (-1: unknown) and the streams placed there.
    """

    file: FileRow
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
    def read(cls, data: Mapping[str, Any]) -> Received:
        """Read the contract's file record."""
        return cls(
            FileRow.read(data),
            str(data["why"]),
            tuple(map(ReceivedKind.read, data["kinds"])),
            tuple(map(str, data["doubts"])),
            tuple(map(_point, data["samples"])),
            tuple(map(_point, data["load"])),
        )


def _member(name: str, value: Any) -> Any:
    if value is None and name not in _TEXTS:
        return None
    return float(value) if name in _NUMBERS else str(value)


def _point(data: Any) -> tuple[float, float, float]:
    first, second, third = data
    return float(first), float(second), float(third)
