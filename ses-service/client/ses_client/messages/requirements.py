"""Requirements: single, in sets, and as they apply to somebody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from ses_client.messages.message import JSON, MAY_BE_ABSENT, OR_NULL, Absent, Message

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
    minimum: Absent[float] = None
    maximum: Absent[float] = None
    unit: ShownUnit
    stated_unit: Absent[str] = None
    weight: float = 1.0
    strictness: Annotated[str, StrictnessName] = "soft"
    valid_from: Absent[Moment] = None
    valid_until: Absent[Moment] = None

    @property
    def at_most(self) -> bool:
        """Whether less is better."""
        return "maximum" in self

    @property
    def bound(self) -> float:
        """The minimum, or the maximum where less is better."""
        stated: float = self["maximum" if self.at_most else "minimum"]
        return stated

    def bounded(self, bound: float) -> Self:
        """Return the same with another bound."""
        return self.but(**{"maximum" if self.at_most else "minimum": bound})

    def as_json(self) -> JSON:
        """Return what the service accepts."""
        return {name: self[name] for name in Requirement.__annotations__ if self.get(name) is not None}


def required(
    kind: str,
    bound: float,
    unit: str,
    weight: float | None = None,
    strictness: str = "soft",
    *,
    at_most: bool = False,
    **more: str | None,
) -> Requirement:
    """Return a requirement to be stated, without what is ``None``; the weight is by default its kind's."""
    stated = {"kind": kind, "maximum" if at_most else "minimum": bound, "unit": unit, "weight": weight}
    members = {**stated, "strictness": strictness, **more}
    return Requirement.of({name: value for name, value in members.items() if value is not None})


class ResolvedRequirement(Requirement):
    """A requirement and where it was stated; `profile` where it is one of a profile named there."""

    level: Annotated[str, LevelName]
    level_name: str
    profile: Absent[str] = None


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
    definition: Absent[str] = None
    measured: Annotated[MeasuredRun | None, MAY_BE_ABSENT, OR_NULL] = None


class RequirementSets(Message):
    """Requirement sets by level and name."""

    sets: Sequence[RequirementSet]


class Suggested(Message):
    """One kind that members of a VO state, in `unit`: the least, the middle and the most of them.

    `got` is the middle of what those of `files` received that can be judged; null: of none.  `proposed` null:
    fewer than two members state it, or fewer than half of those who state anything.
    """

    kind: KindName
    unit: ShownUnit
    members: int
    least: float
    middle: float
    most: float
    got: float | None = None
    files: int = 0
    proposed: Requirement | None = None


class Suggestion(Message):
    """What a VO could require of all members' files, and what it requires now.  Nothing is changed.

    `members` are those who state anything; `files` how many of the latest files of the VO were looked at.
    """

    vo: str
    members: int
    files: int
    suggested: Sequence[Suggested]
    stored: RequirementSet


class Effective(Message):
    """What applies to a subject, kind by kind."""

    subject: Subject
    vo_from: str | None = None
    requirements: Sequence[ResolvedRequirement]
    passed_over: Sequence[PassedOver] = ()
    notes: Sequence[str] = ()
