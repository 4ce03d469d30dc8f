"""Requests.  Fields nobody knows are refused, numbers are finite, text is bounded."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from ses_client.messages.requirements import StrictnessName
from ses_client.names import is_application

from ses_service.api.schemas.kinds import (
    bounds_by_kind,
    kind_names,
    kind_spellings,
    unit_names,
)
from ses_service.knowledge.times import moment
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model import entities
from ses_service.model.entities import Level, Profile, Strictness, Subject
from ses_service.model.kinds import UnknownUnitError
from ses_service.model.limits import (
    MAX_APPLICATION,
    MAX_BOUND,
    MAX_ELEMENT,
    MAX_JOB,
    MAX_KIND,
    MAX_NAME,
    MAX_PATH,
    MAX_REQUIREMENTS,
    MAX_SET_NAME,
    MAX_SIZE,
    MAX_STRIPE_COUNT,
    MAX_WEIGHT,
)
from ses_service.state.asked import Asked


def _is_moment(text: str) -> str:
    moment(text)
    return text


def _fits(name: str) -> str:
    if not is_application(name):
        raise ValueError(f"longer than {MAX_APPLICATION} bytes of UTF-8")
    return name


def _kind_of(name: str) -> str:
    """Return the name of a kind that may be spelled in another way."""
    return vocabulary().metric(name).described.kind.value


KindName = Annotated[str, Field(max_length=MAX_KIND, json_schema_extra=kind_names)]
KindSpelling = Annotated[
    str, Field(max_length=MAX_KIND, json_schema_extra=kind_spellings), AfterValidator(_kind_of)
]
Weight = Annotated[float, Field(gt=0, le=MAX_WEIGHT)]
UnitName = Annotated[str, Field(max_length=16, json_schema_extra=unit_names)]
ProfileName = Annotated[
    str,
    Field(max_length=MAX_SET_NAME, pattern=r"^[^\x00-\x1f\x7f]+$", examples=["checkpoint", "alice:simulate"]),
]
Moment = Annotated[
    str, Field(max_length=40, json_schema_extra={"format": "date-time"}), AfterValidator(_is_moment)
]
ScopeName = Annotated[
    Literal["all", "read"],
    Field(description="`all`: what you may do; `read`: of that, what changes nothing."),
]
Text = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
SetName = Annotated[str, Field(min_length=1, max_length=MAX_SET_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
Application = Annotated[Text, Field(max_length=MAX_APPLICATION), AfterValidator(_fits)]
Job = Annotated[Text, Field(max_length=MAX_JOB)]
Path = Annotated[str, Field(min_length=1, max_length=MAX_PATH)]
ElementId = Annotated[str, Field(min_length=3, max_length=MAX_ELEMENT, pattern=r"^[^\x00-\x1f\x7f]+$")]
Device = Annotated[int, Field(ge=0, lt=2**64)]
Inode = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]
Bytes = Annotated[float, Field(ge=0, le=MAX_SIZE)]
Bound = Annotated[float, Field(ge=0, le=MAX_BOUND, examples=[20.0])]

# A list that is not stated; pydantic takes longer to copy a default than to make a list.
_NONE: Any = Field(default_factory=list, json_schema_extra={"default": []})
_STRICTNESS = {strictness.value: strictness for strictness in Strictness}


class Body(BaseModel):
    """A JSON body: no unknown members, no strings for numbers, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Query(BaseModel):
    """A query string: no unknown parameters."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RequirementIn(Body):
    """One bound of a kind the ontology describes, in one of its units: `minimum`, or `maximum` of a kind
    that is at most.  A kind has several spellings, of which answers have the first.  The requirement applies
    from `valid_from` until before `valid_until`.  `stated_unit` is the unit people wrote it in, where that is
    not `unit`: they are shown it again.
    """

    model_config = ConfigDict(json_schema_extra=bounds_by_kind)

    kind: KindSpelling
    minimum: Bound = 0.0
    maximum: Bound = 0.0
    unit: UnitName
    stated_unit: UnitName | None = None
    weight: Weight = 1.0
    strictness: StrictnessName = "soft"
    valid_from: Moment | None = None
    valid_until: Moment | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> RequirementIn:
        try:
            requirement = self.in_base_units
        except UnknownUnitError as error:
            raise ValueError(str(error)) from None
        needed, other = ("maximum", "minimum") if requirement.kind.at_most else ("minimum", "maximum")
        stated = self.model_fields_set
        if needed not in stated or other in stated:
            raise ValueError(f"{self.kind} needs a {needed}, and no {other}")
        if requirement.unit not in vocabulary().metrics[requirement.kind].units:
            raise ValueError(f"{requirement.kind} is not written in {requirement.unit}")
        if requirement.bound > MAX_BOUND:
            size = vocabulary().metrics[requirement.kind].described.to_base(1.0, self.unit)
            most = f"{MAX_BOUND / size:.15g} {self.unit}"
            raise ValueError(f"the {needed} is more than can be: write at most {most}")
        if not requirement.applies_ever:
            raise ValueError("valid_until is not after valid_from")
        return self

    def to_model(self) -> entities.Requirement:
        """Return the requirement in the base unit of its kind."""
        return self.in_base_units

    @cached_property
    def in_base_units(self) -> entities.Requirement:
        """The requirement in the base unit of its kind; made once."""
        described = vocabulary().metrics[self.kind].described
        return entities.Requirement(
            described.kind,
            described.to_base(self.maximum if described.kind.at_most else self.minimum, self.unit),
            self.weight if "weight" in self.model_fields_set else described.weight,
            _STRICTNESS[self.strictness],
            moment(self.valid_from),
            moment(self.valid_until),
            unit=self.stated_unit or self.unit,
        )


Requirements = Annotated[list[RequirementIn], Field(max_length=MAX_REQUIREMENTS)]


def each_kind_once(requirements: list[RequirementIn]) -> None:
    """Raise ValueError where a kind is stated twice."""
    kinds = [requirement.kind for requirement in requirements]
    if len(set(kinds)) < len(kinds):
        twice = min(kind for kind in kinds if kinds.count(kind) > 1)
        raise ValueError(f"{twice} is stated more than once")


class SubjectIn(Body):
    """Who asks.  Without ``vo`` the user's home VO applies."""

    user: Text
    application: Application | None = None
    vo: Text | None = None
    node: Text | None = None
    job: Job | None = None

    def to_model(self) -> Subject:
        """Return the subject as the core knows it."""
        return Subject(self.user, self.application, self.vo, self.node, self.job)


class DraftIn(Body):
    """A requirement set that is not saved."""

    level: Literal["application", "user", "vo", "site"]
    name: SetName
    requirements: Requirements = []
    profile: ProfileName | None = None

    @model_validator(mode="after")
    def _kinds_once(self) -> DraftIn:
        each_kind_once(self.requirements)
        return self


class Question(Body):
    """What is asked of files, places and nodes alike: for whom, where, how much, and with which needs.

    ``profile`` adds the requirements of a profile for kinds not stated here.
    """

    subject: SubjectIn
    storage_system: Text | None = None
    requirements: Requirements = _NONE
    profile: ProfileName | None = None
    expected_bytes: Bytes | None = None

    @model_validator(mode="after")
    def _kinds_once(self) -> Self:
        each_kind_once(self.requirements)
        return self

    def asked(self, profile: Profile | None, **more: Any) -> Asked:
        """Return the question with its profile; ``more`` is what else is asked."""
        return Asked(
            subject=self.subject.to_model(),
            explicit=tuple(requirement.to_model() for requirement in self.requirements),
            storage_system=self.storage_system,
            expected_bytes=self.expected_bytes,
            profile=profile,
            **more,
        )


class SelectionRequest(Question):
    """A question: where would a file of this subject go?  ``limit`` 0 lists every element.

    ``stripe_count`` is the number the program itself asks for; ``path`` is the name the file will have.
    ``profile`` adds the requirements of a profile for kinds not stated here.  ``draft`` is a requirement set
    that counts in place of the stored one of its level and name: what would be chosen if it were saved.
    """

    draft: DraftIn | None = None
    exclude: Annotated[list[ElementId], Field(max_length=1000)] = _NONE
    limit: Annotated[int, Field(ge=0, le=100_000)] = 10
    stripe_count: Annotated[int, Field(ge=1, le=MAX_STRIPE_COUNT)] | None = None
    path: Path | None = None


class MeasuredRunIn(Body):
    """What a program moved and computed in the run a profile is from: `cores` is how many it used at once."""

    read_bytes: Bytes
    written_bytes: Bytes
    seconds: Annotated[float, Field(ge=0, le=1e12)]
    processor_seconds: Annotated[float, Field(ge=0, le=1e12)]
    cores: Annotated[int, Field(ge=1, le=1_000_000)]


class RequirementSetIn(Body):
    """All requirements of a set, and the profile it takes up; an empty list and no profile remove it.

    `definition` (what the program does, in a sentence) and `measured` are for sets at profile level only.
    """

    requirements: Requirements
    profile: ProfileName | None = None
    definition: Annotated[str, Field(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    measured: MeasuredRunIn | None = None

    @model_validator(mode="after")
    def _kinds_once(self) -> RequirementSetIn:
        each_kind_once(self.requirements)
        return self


class PlacementQuery(Query):
    """Which placements to list.  ``device`` and ``inode`` name a file, so they come together."""

    path: Annotated[str, Field(max_length=MAX_PATH)] | None = None
    device: Device | None = None
    inode: Inode | None = None
    user: Text | None = None
    element: ElementId | None = None
    state: Literal["open", "ended"] | None = None
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
    application: Annotated[str, Field(max_length=MAX_APPLICATION), AfterValidator(_fits)] | None = None
    vo: Annotated[str, Field(max_length=MAX_NAME)] | None = None


LEVELS = {level.value: level for level in Level if level is not Level.EXPLICIT}
