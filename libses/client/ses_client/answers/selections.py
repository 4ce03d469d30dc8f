"""Decisions: the ranking for a question, and the record of one placed file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import Answer, maybe_number, maybe_text, number, texts
from ses_client.answers.requirements import Requirement, Subject, requirements_of


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one element would offer for one kind; ``shortfall`` 0 means met, 1 means nothing."""

    kind: str
    value: float | None
    unit: str
    bound: float | None
    shortfall: float

    @classmethod
    def of(cls, data: Any) -> Prediction:
        """Make one from JSON."""
        return cls(
            kind=str(data["kind"]),
            value=maybe_number(data.get("value")),
            unit=str(data["unit"]),
            bound=maybe_number(data.get("maximum", data.get("minimum"))),
            shortfall=maybe_number(data.get("shortfall")) or 0.0,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One ranked element of a decision; ``read`` and ``write`` are what a stream would get there."""

    rank: int
    element: str
    distance: float
    read: float | None
    write: float | None
    free_gb: float | None
    predicted: tuple[Prediction, ...]
    age_seconds: float | None
    basis: str

    @classmethod
    def of(cls, data: Any) -> Candidate:
        """Make one from JSON."""
        available = data.get("available") or {}
        return cls(
            rank=int(number(data["rank"])),
            element=str(data["element"]),
            distance=number(data["distance"]),
            read=maybe_number(available.get("read_mb_s")),
            write=maybe_number(available.get("write_mb_s")),
            free_gb=maybe_number(data.get("free_gb")),
            predicted=tuple(map(Prediction.of, data.get("predicted") or ())),
            age_seconds=maybe_number(data.get("age_seconds")),
            basis=str(data.get("basis") or ""),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """An element that was out: the reason's name, and a sentence about it."""

    element: str
    reason: str
    detail: str

    @classmethod
    def of(cls, data: Any) -> Refusal:
        """Make one from JSON."""
        return cls(str(data["element"]), str(data["reason"]), str(data.get("detail") or ""))


@dataclass(frozen=True, slots=True)
class Selection(Answer):
    """A decision: requirements as resolved, candidates in order, refused elements."""

    decided_at: float | None
    requirements: tuple[Requirement, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> Selection:
        """Make it from JSON."""
        return cls(
            decided_at=maybe_number(data.get("decided_at")),
            requirements=requirements_of(data["requirements"]),
            candidates=tuple(map(Candidate.of, data["candidates"])),
            refused=tuple(map(Refusal.of, data["refused"])),
            notes=texts(data.get("notes")),
        )


@dataclass(frozen=True, slots=True)
class Placement(Answer):
    """The record of one placed file; candidates and refusals are there when it was asked for by id.

    ``batch_size`` files were chosen from the same candidates, this one as number ``batch_number``;
    ``candidates`` are the ranks before the first of them, where its element had ``rank``.
    ``notes`` are sentences about the decision.
    """

    placement_id: str
    state: str
    subject: Subject
    element: str
    target: str | None
    path: str | None
    distance: float
    predicted: tuple[Prediction, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refused: tuple[Refusal, ...] = ()
    booked_at: float | None = None
    opened_at: float | None = None
    ended_at: float | None = None
    end_reason: str | None = None
    bytes_written: float | None = None
    device: int | None = None
    inode: str | None = None
    rank: int = 1
    batch_number: int = 1
    batch_size: int = 1
    notes: tuple[str, ...] = ()

    @property
    def user(self) -> str:
        """Whose program made the file."""
        return self.subject.user

    @property
    def application(self) -> str | None:
        """The program that made the file."""
        return self.subject.application

    @property
    def achieved_mb_s(self) -> float | None:
        """Bytes written over the time the file was open, None when that says nothing."""
        if not self.bytes_written or self.opened_at is None or self.ended_at is None:
            return None
        seconds = self.ended_at - self.opened_at
        return self.bytes_written / seconds / 1e6 if seconds > 0 else None

    @classmethod
    def of(cls, data: Any) -> Placement:
        """Make one from JSON."""
        return cls(
            placement_id=str(data["placement_id"]),
            state=str(data["state"]),
            subject=Subject.of(data["subject"]),
            element=str(data["element"]),
            target=maybe_text(data.get("target")),
            path=maybe_text(data.get("path")),
            distance=number(data["distance"]),
            predicted=tuple(map(Prediction.of, data.get("predicted") or ())),
            requirements=requirements_of(data.get("requirements") or ()),
            candidates=tuple(map(Candidate.of, data.get("candidates") or ())),
            refused=tuple(map(Refusal.of, data.get("refused") or ())),
            booked_at=maybe_number(data.get("booked_at")),
            opened_at=maybe_number(data.get("opened_at")),
            ended_at=maybe_number(data.get("ended_at")),
            end_reason=maybe_text(data.get("end_reason")),
            bytes_written=maybe_number(data.get("bytes_written")),
            device=None if data.get("device") is None else int(data["device"]),
            inode=maybe_text(data.get("inode")),
            rank=int(data.get("rank") or 1),
            batch_number=int(data.get("batch_number") or 1),
            batch_size=int(data.get("batch_size") or 1),
            notes=texts(data.get("notes")),
        )


def placements_of(data: Any) -> tuple[Placement, ...]:
    """Make the records of a list."""
    return tuple(map(Placement.of, data["placements"]))
