"""Requirements: single, in sets, and as they apply to somebody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from ses_client.messages.message import JSON, Absent, Message

KindName = Annotated[str, "KindName"]
ShownUnit = Annotated[str, "ShownUnit"]
Moment = Annotated[str, "Moment"]
"""A time as ISO 8601 writes it."""
LevelName = Literal["explicit", "application", "user", "vo", "site", "profile"]
StrictnessName = Literal["soft", "hard"]

LEVELS = ("application", "user", "vo", "site")
"""Those that apply by themselves, the most particular first."""
_STATED = (
    "kind",
    "minimum",
    "maximum",
    "unit",
    "stated_unit",
    "weight",
    "strictness",
    "valid_from",
    "valid_until",
)


class Subject(Message):
    """Who asked, with the VO that applied."""

    user: str
    application: str | None = None
    vo: str | None = None
    node: str | None = None
    job: str | None = None

    def as_json(self) -> JSON:
        """Return what the service accepts; without a VO it takes the user's home VO."""
        return {"user": self.user, "application": self.application, "vo": self.vo}


class Requirement(Message):
    """One bound, in the unit its kind is shown in: `minimum`, or `maximum` where less is better.

    `stated_unit` is the unit people wrote it in, where that is another one.  `valid_from` and `valid_until`
    are there where the requirement has them.
    """

    kind: KindName
    minimum: Absent[float] = 0.0
    maximum: Absent[float] = 0.0
    unit: ShownUnit
    stated_unit: Absent[str] = ""
    weight: float = 1.0
    strictness: Annotated[str, StrictnessName] = "soft"
    valid_from: Absent[Moment] = ""
    valid_until: Absent[Moment] = ""

    @property
    def at_most(self) -> bool:
        """Whether less is better."""
        return "maximum" in self

    @property
    def bound(self) -> float:
        """The minimum, or the maximum where less is better."""
        return self.maximum if self.at_most else self.minimum

    def as_json(self) -> JSON:
        """Return what the service accepts."""
        return {name: self[name] for name in Requirement.__annotations__ if self.get(name) not in (None, "")}


def required(kind: str, bound: float, unit: str, *, at_most: bool = False, **more: Any) -> Requirement:
    """Return a requirement to be stated; ``None`` among ``more`` is left out."""
    stated = {name: value for name, value in more.items() if value is not None}
    return Requirement.of({"kind": kind, "maximum" if at_most else "minimum": bound, "unit": unit, **stated})


class ResolvedRequirement(Requirement):
    """A requirement and where it was stated; `profile` where it is one of a profile named there."""

    level: Annotated[str, LevelName]
    level_name: str
    profile: Absent[str] = ""


class PassedOver(ResolvedRequirement):
    """A requirement that is stated and does not count, and why."""

    reason: str


class MeasuredRun(Message):
    """What a program moved and computed in the run a profile is from: `cores` is how many it used at once."""

    read_bytes: float
    written_bytes: float
    seconds: float
    processor_seconds: float
    cores: int


class RequirementSet(Message):
    """One requirement set; ``revision`` 0 means it was never set.

    `definition` and `measured` are there at profile level only.
    """

    level: Annotated[str, LevelName]
    name: str
    requirements: Sequence[Requirement] = ()
    profile: str | None = None
    revision: int = 0
    modified_at: float | None = None
    modified_by: str | None = None
    definition: Absent[str] = ""
    measured: Absent[MeasuredRun | None] = None


class RequirementSets(Message):
    """Requirement sets by level and name."""

    sets: Sequence[RequirementSet]


class Effective(Message):
    """What applies to a subject, kind by kind."""

    subject: Subject
    vo_from: str | None = None
    requirements: Sequence[ResolvedRequirement]
    passed_over: Sequence[PassedOver] = ()
    notes: Sequence[str] = ()
