"""Decisions: the ranking for a question, and the record of one placed file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ses_client.answers.reading import Answer, At, Part, number
from ses_client.answers.requirements import Requirement, Subject


def _bound(data: Any) -> float | None:
    found = data.get("maximum", data.get("minimum"))
    return None if found is None else number(found)


def _shortfall(value: Any) -> float:
    return 0.0 if value is None else number(value)


@dataclass(frozen=True, slots=True)
class Prediction(Part):
    """What one element would offer for one kind; ``shortfall`` 0 means met, 1 means nothing."""

    kind: str
    value: float | None
    unit: str
    bound: Annotated[float | None, At("", _bound)]
    shortfall: Annotated[float, At("shortfall", _shortfall)]


@dataclass(frozen=True, slots=True)
class Candidate(Part):
    """One ranked element of a decision; ``read`` and ``write`` are what a stream would get there.

    ``after``: what puts it after the one before it, in words; empty: nothing, or the service does not say.
    """

    rank: int
    element: str
    distance: float
    read: Annotated[float | None, At("available.read_mb_s")]
    write: Annotated[float | None, At("available.write_mb_s")]
    free_gb: float | None
    predicted: tuple[Prediction, ...]
    age_seconds: float | None
    basis: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Refusal(Part):
    """An element that was out: the reason's name, and a sentence about it."""

    element: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Selection(Answer):
    """A decision: requirements as resolved, candidates in order, refused elements."""

    decided_at: float | None
    requirements: tuple[Requirement, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement(Answer):
    """The record of one placed file; candidates and refusals are there when it was asked for by id.

    ``batch_size`` files were chosen from the same candidates, this one as number ``batch_number``;
    ``candidates`` are the ranks before the first of them, where its element had ``rank``.
    ``predicted_now`` is for an open file what it would get from now on; ``notes`` are sentences about the
    decision.
    """

    placement_id: str
    state: str
    subject: Subject
    element: str
    target: str | None
    path: str | None
    distance: float
    predicted: tuple[Prediction, ...] = ()
    predicted_now: tuple[Prediction, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refused: tuple[Refusal, ...] = ()
    placed_at: float | None = None
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


def placements_of(data: Any) -> tuple[Placement, ...]:
    """Make the records of a list."""
    return tuple(map(Placement.of, data["placements"]))
