"""Requests.  Fields nobody knows are refused, numbers are finite, text is bounded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ses_service import model
from ses_service.model import Kind, Level, Strictness, Subject
from ses_service.units import CAPACITY_UNITS, RATE_UNITS, UnknownUnitError, to_base

KindName = Literal[
    "current-read-rate", "average-read-rate", "current-write-rate", "average-write-rate", "free-capacity"
]
StrictnessName = Literal["soft", "hard"]
Text = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]
ElementId = Annotated[str, Field(min_length=3, max_length=512, pattern=r"^[^\x00-\x1f\x7f]+$")]
Device = Annotated[int, Field(ge=0, lt=2**64)]
Inode = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]
Bytes = Annotated[float, Field(ge=0, le=1e24)]

_MAX_BASE = 1e24


class Body(BaseModel):
    """A JSON body: no unknown members, no strings for numbers, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Query(BaseModel):
    """A query string: no unknown parameters."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Requirement(Body):
    """One minimum: rates in B/s to PiB/s, capacity in B to PiB."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"kind": {"const": Kind.FREE_CAPACITY.value}}},
            "then": {"properties": {"unit": {"enum": [*CAPACITY_UNITS]}}},
            "else": {"properties": {"unit": {"enum": [*RATE_UNITS]}}},
        }
    )

    kind: KindName
    minimum: Annotated[float, Field(ge=0, le=1e15, examples=[20.0])]
    unit: Annotated[str, Field(max_length=8, json_schema_extra={"enum": [*RATE_UNITS, *CAPACITY_UNITS]})]
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0
    strictness: StrictnessName = "soft"

    @model_validator(mode="after")
    def _unit_fits(self) -> Requirement:
        try:
            base = to_base(self.minimum, self.unit, Kind(self.kind))
        except UnknownUnitError as error:
            raise ValueError(str(error)) from None
        if base > _MAX_BASE:
            raise ValueError("the minimum is beyond anything that exists")
        return self

    def to_model(self) -> model.Requirement:
        """Return the requirement in bytes or bytes per second."""
        kind = Kind(self.kind)
        return model.Requirement(
            kind, to_base(self.minimum, self.unit, kind), self.weight, Strictness(self.strictness)
        )


Requirements = Annotated[list[Requirement], Field(max_length=5)]


def _each_kind_once(requirements: list[Requirement]) -> None:
    kinds = [requirement.kind for requirement in requirements]
    twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is stated more than once")


class SubjectIn(Body):
    """Who asks.  Without ``vo`` the user's home VO applies."""

    user: Text
    application: Text | None = None
    vo: Text | None = None
    node: Text | None = None
    job: Text | None = None

    def to_model(self) -> Subject:
        """Return the subject as the core knows it."""
        return Subject(self.user, self.application, self.vo, self.node, self.job)


class SelectionRequest(Body):
    """A question: where would a file of this subject go?  ``limit`` 0 lists every element.

    ``stripe_count`` is the number the program itself asks for; ``path`` is the name the file will have.
    """

    subject: SubjectIn
    storage_system: Text | None = None
    requirements: Requirements = []
    expected_bytes: Bytes | None = None
    exclude: Annotated[list[ElementId], Field(max_length=1000)] = []
    limit: Annotated[int, Field(ge=0, le=100_000)] = 10
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0
    stripe_count: Annotated[int, Field(ge=1, le=2000)] | None = None
    path: Annotated[str, Field(min_length=1, max_length=8192)] | None = None

    @model_validator(mode="after")
    def _kinds_once(self) -> SelectionRequest:
        _each_kind_once(self.requirements)
        return self


class PlacementRequest(SelectionRequest):
    """A question whose answer is booked, ``count`` times in order, for ``lease_seconds``.

    ``ahead``: booked ahead of need, and counted as streams only once the files are open.
    """

    count: Annotated[int, Field(ge=1, le=1024)] = 1
    lease_seconds: Annotated[float, Field(gt=0, le=3600)] = 30.0
    ahead: bool = False


class PlacementOpened(Body):
    """The file of a placement was created.  ``inode`` is decimal text: JSON numbers end at 2^53."""

    state: Literal["open"]
    path: Annotated[str, Field(min_length=1, max_length=8192)] | None = None
    device: Device | None = None
    inode: Inode | None = None
    pid: Annotated[int, Field(ge=0, lt=2**31)] | None = None


class PlacementEnded(Body):
    """The placement is over."""

    reason: Literal["closed", "exited", "unused", "expired", "failed", "lost", "silent"]
    bytes_written: Bytes | None = None


class RequirementSetIn(Body):
    """All requirements of a set; an empty list removes them."""

    requirements: Requirements

    @model_validator(mode="after")
    def _kinds_once(self) -> RequirementSetIn:
        _each_kind_once(self.requirements)
        return self


class PlacementQuery(Query):
    """Which placements to list.  ``device`` and ``inode`` name a file, so they come together."""

    path: Annotated[str, Field(max_length=8192)] | None = None
    device: Device | None = None
    inode: Inode | None = None
    user: Text | None = None
    element: ElementId | None = None
    state: Literal["booked", "open", "ended"] | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 50

    @model_validator(mode="after")
    def _whole_file(self) -> PlacementQuery:
        if (self.device is None) != (self.inode is None):
            raise ValueError("device and inode name a file only together")
        return self


class RequirementsQuery(Query):
    """Whose requirement sets to list; without a user all."""

    user: Text | None = None


class EffectiveQuery(Query):
    """Whose effective requirements to give."""

    user: Text
    application: Annotated[str, Field(max_length=256)] | None = None
    vo: Annotated[str, Field(max_length=256)] | None = None


LEVELS = {level.value: level for level in Level if level is not Level.EXPLICIT}
