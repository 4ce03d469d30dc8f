"""Requirements: single, in sets, and as they apply to somebody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ses_client.answers.reading import JSON, Answer, At, Part, number

LEVELS = ("application", "user", "vo", "site")
"""Those that apply by themselves, the most particular first."""


def _bound(data: Any) -> float:
    return number(data["maximum"] if "maximum" in data else data["minimum"])


def _weight(data: Any) -> float:
    return number(data.get("weight", 1.0))


def _is_maximum(data: Any) -> bool:
    return "maximum" in data


@dataclass(frozen=True, slots=True)
class Requirement(Part):
    """One bound, a minimum unless ``at_most``; without a weight it has the one of its kind.

    ``level``, ``level_name`` and ``profile`` say where it came from when the service resolved it.
    ``valid_from`` and ``valid_until`` are times as ISO 8601 writes them.  ``stated_unit`` is the unit people
    wrote it in, where that is not ``unit``.
    """

    kind: str
    bound: Annotated[float, At("", _bound)]
    unit: str
    weight: Annotated[float | None, At("", _weight)] = None
    strictness: str = "soft"
    at_most: Annotated[bool, At("", _is_maximum)] = False
    valid_from: str | None = None
    valid_until: str | None = None
    level: str | None = None
    level_name: str | None = None
    profile: str | None = None
    stated_unit: str | None = None

    def as_json(self) -> JSON:
        """Return what the service accepts."""
        stated = {
            "weight": self.weight,
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "stated_unit": self.stated_unit,
        }
        return {
            "kind": self.kind,
            "maximum" if self.at_most else "minimum": self.bound,
            "unit": self.unit,
            "strictness": self.strictness,
            **{name: value for name, value in stated.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class RequirementSet(Answer):
    """All requirements stated at one level under one name; ``revision`` 0 means never set."""

    level: str
    name: str
    requirements: tuple[Requirement, ...] = ()
    revision: int = 0
    modified_at: float | None = None
    modified_by: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class RequirementSets(Answer):
    """Sets in the order of their levels, then by name."""

    sets: tuple[RequirementSet, ...]


@dataclass(frozen=True, slots=True)
class Subject(Part):
    """Who asks; ``vo`` None lets the service take the user's home VO."""

    user: str
    application: str | None = None
    vo: str | None = None

    def as_json(self) -> JSON:
        """Return what the service accepts."""
        return {"user": self.user, "application": self.application, "vo": self.vo}


@dataclass(frozen=True, slots=True)
class PassedOver(Part):
    """A requirement that is stated, too, and does not count, with the reason in words."""

    requirement: Annotated[Requirement, At("")]
    reason: str


@dataclass(frozen=True, slots=True)
class Effective(Answer):
    """What applies to a subject, whose VO is filled in; ``vo_from``: by what they belong to it."""

    subject: Subject
    requirements: tuple[Requirement, ...]
    passed_over: tuple[PassedOver, ...] = ()
    vo_from: str | None = None
    notes: tuple[str, ...] = ()
