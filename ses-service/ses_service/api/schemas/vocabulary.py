"""Answers about the vocabulary.  These models describe them for the contract."""

from __future__ import annotations

from typing import Literal

from ses_service.api.schemas.answers import Answer, MeasuredRunOut, RequirementOut, ShownUnit


class KindOut(Answer):
    """A kind of requirement.  `bound` says which one it takes; answers are in `unit`.

    `sizes` has how many of `unit` one of each of `units` is.  Requests may name the kind by one of
    `spellings`, too.
    """

    kind: str
    spellings: list[str]
    label: str
    definition: str
    bound: Literal["minimum", "maximum"]
    unit: ShownUnit
    units: list[str]
    sizes: dict[str, float]
    default_weight: float


class ProfileOut(Answer):
    """Requirements under the name of what a program does.

    One that a person stored has who did and when, and what was measured of the program, if it was.
    """

    profile: str
    label: str
    definition: str
    requirements: list[RequirementOut]
    measured: MeasuredRunOut | None
    modified_at: float | None
    modified_by: str | None


class WorkloadOut(Answer):
    """What a program does, as a sentence with quantities; `example` is one that is understood."""

    workload: str
    definition: str
    example: str


class VocabularyOut(Answer):
    """Kinds in the order of answers, profiles and workloads by name."""

    kinds: list[KindOut]
    profiles: list[ProfileOut]
    workloads: list[WorkloadOut]
