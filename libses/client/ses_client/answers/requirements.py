"""Requirements: single, in sets, and as they apply to somebody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import JSON, Answer, maybe_number, maybe_text, number

LEVELS = ("application", "user", "vo", "site")
"""Those that apply by themselves, the most particular first."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One bound, a minimum unless ``at_most``; without a weight it has the one of its kind.

    ``level``, ``level_name`` and ``profile`` say where it came from when the service resolved it.
    ``valid_from`` and ``valid_until`` are times as ISO 8601 writes them.  ``stated_unit`` is the unit people
    wrote it in, where that is not ``unit``.
    """

    kind: str
    bound: float
    unit: str
    weight: float | None = None
    strictness: str = "soft"
    at_most: bool = False
    valid_from: str | None = None
    valid_until: str | None = None
    level: str | None = None
    level_name: str | None = None
    profile: str | None = None
    stated_unit: str | None = None

    @classmethod
    def of(cls, data: Any) -> Requirement:
        """Make one from JSON."""
        return cls(
            kind=str(data["kind"]),
            bound=number(data["maximum"] if "maximum" in data else data["minimum"]),
            unit=str(data["unit"]),
            weight=number(data.get("weight", 1.0)),
            strictness=str(data.get("strictness", "soft")),
            at_most="maximum" in data,
            valid_from=maybe_text(data.get("valid_from")),
            valid_until=maybe_text(data.get("valid_until")),
            level=maybe_text(data.get("level")),
            level_name=maybe_text(data.get("level_name")),
            profile=maybe_text(data.get("profile")),
            stated_unit=maybe_text(data.get("stated_unit")),
        )

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


def requirements_of(data: Any) -> tuple[Requirement, ...]:
    """Make requirements from a list."""
    return tuple(Requirement.of(one) for one in data)


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

    @classmethod
    def of(cls, data: Any) -> RequirementSet:
        """Make one from JSON."""
        return cls(
            level=str(data["level"]),
            name=str(data["name"]),
            requirements=requirements_of(data["requirements"]),
            revision=int(number(data["revision"])),
            modified_at=maybe_number(data.get("modified_at")),
            modified_by=maybe_text(data.get("modified_by")),
            profile=maybe_text(data.get("profile")),
        )


@dataclass(frozen=True, slots=True)
class RequirementSets(Answer):
    """Sets in the order of their levels, then by name."""

    sets: tuple[RequirementSet, ...]

    @classmethod
    def of(cls, data: Any) -> RequirementSets:
        """Make it from JSON."""
        return cls(tuple(RequirementSet.of(one) for one in data["sets"]))


@dataclass(frozen=True, slots=True)
class Subject:
    """Who asks; ``vo`` None lets the service take the user's home VO."""

    user: str
    application: str | None = None
    vo: str | None = None

    @classmethod
    def of(cls, data: Any) -> Subject:
        """Make one from JSON."""
        return cls(str(data["user"]), maybe_text(data.get("application")), maybe_text(data.get("vo")))

    def as_json(self) -> JSON:
        """Return what the service accepts."""
        return {"user": self.user, "application": self.application, "vo": self.vo}


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A requirement that is stated, too, and does not count, with the reason in words."""

    requirement: Requirement
    reason: str


@dataclass(frozen=True, slots=True)
class Effective(Answer):
    """What applies to a subject, whose VO is filled in; ``vo_from``: by what they belong to it."""

    subject: Subject
    requirements: tuple[Requirement, ...]
    passed_over: tuple[PassedOver, ...] = ()
    vo_from: str | None = None

    @classmethod
    def of(cls, data: Any) -> Effective:
        """Make it from JSON."""
        return cls(
            Subject.of(data["subject"]),
            requirements_of(data["requirements"]),
            tuple(
                PassedOver(Requirement.of(one), str(one["reason"])) for one in data.get("passed_over") or ()
            ),
            maybe_text(data.get("vo_from")),
        )
