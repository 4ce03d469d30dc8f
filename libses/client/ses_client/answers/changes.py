"""The history of the knowledge base: changes, and what each did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

from ses_client.answers.reading import Answer, maybe_text
from ses_client.answers.requirements import Requirement, requirements_of

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
    def of(cls, data: Any) -> Change:
        """Make one from JSON."""
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
class ChangePage(Answer):
    """Changes, newest first; ``next`` is the number to ask for more before."""

    changes: tuple[Change, ...]
    next: int | None = None

    @classmethod
    def of(cls, data: Any) -> ChangePage:
        """Make it from JSON."""
        return cls(tuple(Change.of(item) for item in data["changes"]), data.get("next"))


@dataclass(frozen=True, slots=True)
class StatedSet:
    """What a requirement set stated at one moment."""

    requirements: tuple[Requirement, ...] = ()
    profile: str | None = None

    @classmethod
    def of(cls, data: Any) -> StatedSet | None:
        """Make one from JSON, None of null."""
        if data is None:
            return None
        return cls(requirements_of(data["requirements"]), maybe_text(data.get("profile")))


@dataclass(frozen=True, slots=True)
class State:
    """One subject before and after a change: Turtle, and of a requirement set what it stated."""

    subject: str
    before: str | None
    after: str | None
    set_before: StatedSet | None = None
    set_after: StatedSet | None = None

    @classmethod
    def of(cls, data: Any) -> State:
        """Make one from JSON."""
        return cls(
            str(data["subject"]),
            maybe_text(data["before"]),
            maybe_text(data["after"]),
            StatedSet.of(data.get("set_before")),
            StatedSet.of(data.get("set_after")),
        )


@dataclass(frozen=True, slots=True)
class ChangeStates(Answer):
    """What one change did; ``next`` is the subject to ask for more after."""

    number: int
    states: tuple[State, ...]
    next: str | None = None

    @classmethod
    def of(cls, data: Any) -> ChangeStates:
        """Make it from JSON."""
        return cls(
            int(data["number"]),
            tuple(State.of(item) for item in data["states"]),
            maybe_text(data.get("next")),
        )


@dataclass(frozen=True, slots=True)
class KnowledgePage:
    """Some subjects of the knowledge base as Turtle; ``head`` goes before all, ``next`` is to go on after."""

    head: str
    revision: str
    texts: tuple[str, ...]
    next: str | None

    @classmethod
    def of(cls, data: Any) -> KnowledgePage:
        """Make it from JSON."""
        found = tuple(str(one["turtle"]) for one in data["subjects"])
        return cls(str(data["head"]), str(data["revision"]), found, maybe_text(data["next"]))


@dataclass(frozen=True, slots=True)
class Undone(Answer):
    """The number of the change that undid one; None when nothing was to be done, or on a dry run."""

    change: int | None

    @classmethod
    def of(cls, data: Any) -> Undone:
        """Make it from JSON."""
        return cls(None if data["change"] is None else int(data["change"]))


def set_named_by(subject: str) -> tuple[str, str] | None:
    """Return level and name of the requirement set a subject is, None for anything else."""
    level, slash, name = subject.removeprefix(_SETS).partition("/")
    return (level, unquote(name)) if subject.startswith(_SETS) and slash else None


def subject_of_set(level: str, name: str) -> str:
    """Return the subject a requirement set is."""
    return f"{_SETS}{level}/{quote(name, safe='')}"
