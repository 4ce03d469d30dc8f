"""The history of the knowledge base: changes, and what each did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote, unquote

from ses_client.answers.reading import Answer, At, Part
from ses_client.answers.requirements import Requirement

_SETS = "https://w3id.org/qstorman/requirements/"


def _seconds(at: Any) -> float:
    return datetime.fromisoformat(at).timestamp()


@dataclass(frozen=True, slots=True)
class Change(Part):
    """One change: who, when (seconds since the epoch) and why.

    ``subject`` is the first of ``subjects``; ``undid`` the number of the change it undid.
    """

    number: int
    at: Annotated[float, At("at", _seconds)]
    author: str
    reason: str
    subjects: int
    subject: str
    undid: Annotated[int | None, At("undone")] = None


@dataclass(frozen=True, slots=True)
class ChangePage(Answer):
    """Changes, newest first; ``next`` is the number to ask for more before."""

    changes: tuple[Change, ...]
    next: int | None = None


@dataclass(frozen=True, slots=True)
class StatedSet(Part):
    """What a requirement set stated at one moment."""

    requirements: tuple[Requirement, ...] = ()
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class State(Part):
    """One subject before and after a change: Turtle, and of a requirement set what it stated."""

    subject: str
    before: str | None
    after: str | None
    set_before: StatedSet | None = None
    set_after: StatedSet | None = None


@dataclass(frozen=True, slots=True)
class ChangeStates(Answer):
    """What one change did; ``next`` is the subject to ask for more after."""

    number: int
    states: tuple[State, ...]
    next: str | None = None


def _texts(subjects: Any) -> tuple[str, ...]:
    return tuple(str(one["turtle"]) for one in subjects)


@dataclass(frozen=True, slots=True)
class KnowledgePage(Part):
    """Some subjects of the knowledge base as Turtle; ``head`` goes before all, ``next`` is to go on after."""

    head: str
    revision: str
    texts: Annotated[tuple[str, ...], At("subjects", _texts)]
    next: str | None


@dataclass(frozen=True, slots=True)
class Undone(Answer):
    """The number of the change that undid one; None when nothing was to be done, or on a dry run."""

    change: int | None


def set_named_by(subject: str) -> tuple[str, str] | None:
    """Return level and name of the requirement set a subject is, None for anything else."""
    level, slash, name = subject.removeprefix(_SETS).partition("/")
    return (level, unquote(name)) if subject.startswith(_SETS) and slash else None


def subject_of_set(level: str, name: str) -> str:
    """Return the subject a requirement set is."""
    return f"{_SETS}{level}/{quote(name, safe='')}"
