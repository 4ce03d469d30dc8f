"""The knowledge base: its text, its history, and what a change does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote, unquote

from ses_client.messages.message import Message
from ses_client.messages.requirements import LevelName, Requirement

PartName = Literal["site", "requirements"]
_SETS = "https://w3id.org/qstorman/requirements/"


class SubjectText(Message):
    """The statements about one subject, as a block of Turtle."""

    subject: str
    turtle: str


class KnowledgePage(Message):
    """Subjects by name, and the one to ask for more after.

    The blocks of all pages of one `revision`, after `head`, are one Turtle text.
    """

    part: Annotated[str, PartName]
    revision: str
    head: str
    subjects: Sequence[SubjectText]
    next: str | None = None


class PropertyChange(Message):
    """Values of one property, in Turtle: those that go and those that come."""

    property: str
    before: Sequence[str]
    after: Sequence[str]


class SubjectChange(Message):
    """What changes about one subject."""

    part: Annotated[str, PartName]
    subject: str
    status: Annotated[str, Literal["added", "changed", "removed"]]
    properties: Sequence[PropertyChange]


class Conflict(Message):
    """What people and a discovery both changed; `property` null: the subject is not discovered any more."""

    subject: str
    property: str | None = None
    described: Sequence[str]
    discovered: Sequence[str]
    kept: Annotated[str, Literal["described", "discovered"]]


class ChangeMade(Message):
    """What was, or with `dry_run` would be, changed.  `change` is null when nothing was.

    `revision` is the state this was worked out from.  Of `total` subjects the first 200 are listed.
    """

    change: int | None = None
    dry_run: bool = False
    revision: str = ""
    total: int = 0
    subjects: Sequence[SubjectChange] = ()
    conflicts: Sequence[Conflict] = ()


class MovedSet(Message):
    """A requirement set whose next file would go elsewhere; `instead` null: no other element may take it."""

    level: Annotated[str, LevelName]
    name: str
    distance: float
    instead: str | None = None
    distance_instead: float | None = None


class Effect(Message):
    """What depends on the element, by loads as they are now, before the change.

    `moved` are the requirement sets whose next file in this storage system would have gone there: of
    `requirement_sets_asked`, the first of `requirement_sets` in order. `other_elements` of the storage system
    would still take a file.
    """

    open_placements: int
    open_in_system: int
    other_elements: int
    requirement_sets: int
    requirement_sets_asked: int
    moved: Sequence[MovedSet]


class ElementChangeMade(ChangeMade):
    """What was, or with `dry_run` would be, changed, and what depends on the element where it loses files."""

    element: str
    effect: Effect | None = None


class Change(Message):
    """One change: who, when (ISO 8601) and why; `subject` is the first of `subjects`."""

    number: int
    at: str
    author: str
    reason: str
    subjects: int
    subject: str
    undone: int | None = None

    @property
    def made_at(self) -> float:
        """When, in seconds since the epoch."""
        return datetime.fromisoformat(self.at).timestamp()


class ChangePage(Message):
    """Changes, newest first, and the number to ask for more before."""

    changes: Sequence[Change]
    next: int | None = None


class StatedSet(Message):
    """What a requirement set states; kinds nobody describes any more are left out."""

    level: Annotated[str, LevelName]
    name: str
    requirements: Sequence[Requirement] = ()
    profile: str | None = None


class State(Message):
    """One subject before and after, as Turtle; null where there was nothing.

    Of a requirement set, `set_before` and `set_after` say the same in the words of requirements.
    """

    subject: str
    before: str | None = None
    after: str | None = None
    set_before: StatedSet | None = None
    set_after: StatedSet | None = None


class ChangeStates(Message):
    """What one change did, subject by subject, and the one to ask for more after."""

    number: int
    states: Sequence[State]
    next: str | None = None


def set_named_by(subject: str) -> tuple[str, str] | None:
    """Return level and name of the requirement set a subject is, None for anything else."""
    level, slash, name = subject.removeprefix(_SETS).partition("/")
    return (level, unquote(name)) if subject.startswith(_SETS) and slash else None


def subject_of_set(level: str, name: str) -> str:
    """Return the subject a requirement set is."""
    return f"{_SETS}{level}/{quote(name, safe='')}"
