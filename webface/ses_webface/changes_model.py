"""The history of the knowledge base as the selection service tells it, read once into frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, unquote

from ses_webface.selection_model import Json, Requirement

_SETS = "https://w3id.org/qstorman/requirements/"


@dataclass(frozen=True, slots=True)
class Change:
    """One change: who, when (seconds since the epoch) and why.

    ``subject`` is the first of ``subjects``; ``undid`` the number of the change it undid.
    """

    number: int
    at: float
    author: str
    reason: str
    subjects: int
    subject: str
    undid: int | None = None

    @classmethod
    def read(cls, data: Json) -> Change:
        """Read one member of ``changes``."""
        undid = data.get("undone")
        return cls(
            number=int(data["number"]),
            at=datetime.fromisoformat(str(data["at"])).timestamp(),
            author=str(data["author"]),
            reason=str(data["reason"]),
            subjects=int(data["subjects"]),
            subject=str(data["subject"]),
            undid=None if undid is None else int(undid),
        )


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes, newest first; ``next`` is the number to ask for more before."""

    changes: tuple[Change, ...]
    next: int | None = None

    @classmethod
    def read(cls, data: Json) -> ChangePage:
        """Read the answer of ``GET /v1/changes``."""
        return cls(tuple(Change.read(item) for item in data["changes"]), data.get("next"))


@dataclass(frozen=True, slots=True)
class StatedSet:
    """What a requirement set stated at one moment."""

    requirements: tuple[Requirement, ...] = ()
    profile: str | None = None

    @classmethod
    def read(cls, data: Json | None) -> StatedSet | None:
        """Read the contract's StatedSet, or null."""
        if data is None:
            return None
        profile = data.get("profile")
        return cls(
            tuple(Requirement.read(item) for item in data["requirements"]),
            None if profile is None else str(profile),
        )


@dataclass(frozen=True, slots=True)
class State:
    """One subject before and after a change: Turtle, and of a requirement set what it stated."""

    subject: str
    before: str | None
    after: str | None
    set_before: StatedSet | None = None
    set_after: StatedSet | None = None

    @classmethod
    def read(cls, data: Json) -> State:
        """Read one member of ``states``."""
        before, after = data["before"], data["after"]
        return cls(
            str(data["subject"]),
            None if before is None else str(before),
            None if after is None else str(after),
            StatedSet.read(data.get("set_before")),
            StatedSet.read(data.get("set_after")),
        )


@dataclass(frozen=True, slots=True)
class ChangeStates:
    """What one change did; ``next`` is the subject to ask for more after."""

    number: int
    states: tuple[State, ...]
    next: str | None = None

    @classmethod
    def read(cls, data: Json) -> ChangeStates:
        """Read the answer of ``GET /v1/changes/NUMBER``."""
        more = data.get("next")
        return cls(
            int(data["number"]),
            tuple(State.read(item) for item in data["states"]),
            None if more is None else str(more),
        )


def set_named_by(subject: str) -> tuple[str, str] | None:
    """Return level and name of the requirement set a subject is, None for anything else."""
    level, slash, name = subject.removeprefix(_SETS).partition("/")
    return (level, unquote(name)) if subject.startswith(_SETS) and slash else None


def subject_of_set(level: str, name: str) -> str:
    """Return the subject a requirement set is."""
    return f"{_SETS}{level}/{quote(name, safe='')}"
