"""Decisions: the ranking for a question, and the record of each placed file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Absent, Message
from ses_client.messages.requirements import KindName, ResolvedRequirement, ShownUnit, Subject

ExpectedFrom = Literal["request", "history"]
EndName = Literal["closed", "exited", "unused", "expired", "failed", "lost", "silent"]
OrderName = Annotated[str, "OrderName"]
ReasonName = Literal[
    "wrong-system",
    "unreachable",
    "excluded",
    "inactive",
    "read-only",
    "draining",
    "no-space",
    "hard-requirement",
    "degraded",
]


class Prediction(Message):
    """What one kind would get; ``shortfall`` 0 meets the bound, 1 offers nothing of it."""

    kind: KindName
    value: float | None = None
    unit: ShownUnit
    minimum: Absent[float] = None
    maximum: Absent[float] = None
    shortfall: float = 0.0

    @property
    def bound(self) -> float | None:
        """What was required; None: nothing."""
        stated: float | None = self.get("maximum", self.get("minimum"))
        return stated


class Rates(Message):
    """A read and a write rate."""

    read_mb_s: float | None = None
    write_mb_s: float | None = None


class Candidate(Message):
    """One rank.  ``basis`` says what the prediction rests on.

    `ordered_by` names what puts it after the one before it, null where nothing does; `after` says so in
    words.  `order` are the numbers that are compared, one after the other, the smaller first; null:
    the smallest there is (room is not tight); instead of all: not known, as a program chose.
    """

    rank: int
    element: str
    storage_system: str
    backend: str
    target: str
    distance: float
    available: Rates
    free_gb: float | None = None
    predicted: Sequence[Prediction]
    age_seconds: float | None = None
    basis: Annotated[str, Literal["monitor+ledger", "ledger", "static"]]
    ordered_by: OrderName | None = None
    after: str = ""
    order: Mapping[OrderName, float | None] | None = None


class Refusal(Message):
    """One element that was not considered, and why."""

    element: str
    reason: Annotated[str, ReasonName]
    detail: str


class Selection(Message):
    """Ranked candidates, refused elements, and what a person should know about the data.

    `stripe_count` is over how many elements a file placed on the first candidate would be spread;
    `notes` say what decided it.  `expected_bytes` is the size the decision counts on, `expected_from` where
    that is from.
    """

    decided_at: float
    requirements: Sequence[ResolvedRequirement]
    stripe_count: int = 1
    expected_bytes: float | None = None
    expected_from: Annotated[str, ExpectedFrom] | None = None
    candidates: Sequence[Candidate]
    refused: Sequence[Refusal]
    notes: Sequence[str] = ()


class Stripe(Message):
    """One of the elements a file is spread over."""

    element: str
    target: str


class Placement(Message):
    """One placement without its explanation.

    ``path``, ``device`` and ``inode`` are the file's when it was created, as its node saw them.
    ``lease_until`` is null for a file that is open as long as its node reports.
    """

    placement_id: str
    state: Annotated[str, Literal["open", "ended"]]
    subject: Subject
    element: str
    storage_system: str = ""
    target: str = ""
    stripe_count: int = 1
    stripe_size_bytes: int | None = None
    elements: Sequence[Stripe] = ()
    path: str | None = None
    device: int | None = None
    inode: str | None = None
    distance: float
    predicted: Sequence[Prediction] = ()
    requirements: Sequence[ResolvedRequirement] = ()
    placed_at: float
    opened_at: float | None = None
    ended_at: float | None = None
    end_reason: (
        Annotated[str, Literal["closed", "exited", "unused", "expired", "failed", "lost", "silent"]] | None
    ) = None
    bytes_written: float | None = None
    expected_bytes: float | None = None
    expected_from: Annotated[str, ExpectedFrom] | None = None
    decided_by: Annotated[str, Literal["service", "agent", "program"]] = "program"
    lease_until: float | None = None

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


class PlacementRecord(Placement):
    """One placement with the first ranks and the refused elements at its decision.

    Files that one application chose from one state of the table share those of the first of them: this
    one was number `batch_number` of `batch_size`, its element had `rank` in that order, and `distance` and
    `predicted` count those chosen before it.  `predicted_now` is what it would get from now on, with what
    came and went since; empty for a file that is not open.
    """

    predicted_now: Sequence[Prediction] = ()
    rank: int = 1
    batch_number: int = 1
    batch_size: int = 1
    notes: Sequence[str] = ()
    candidates: Sequence[Candidate] = ()
    refused: Sequence[Refusal] = ()


class PlacementList(Message):
    """Placements, the latest first."""

    placements: Sequence[Placement]
