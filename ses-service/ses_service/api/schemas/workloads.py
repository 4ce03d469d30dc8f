"""A sentence about a program, and the requirements that follow from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ses_service.api.schemas.answers import Answer, RequirementOut
from ses_service.api.schemas.requests import Body, Text

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class WorkloadIn(Body):
    """A sentence such as `checkpoint of 4 TB every 30 min by 512 ranks`.

    `values` gives parameters that it does not have, such as `{"share": "10 %"}`.
    """

    sentence: Annotated[Text, Field(examples=["checkpoint of 4 TB every 30 min by 512 ranks"])]
    values: Annotated[dict[_Name, Text], Field(max_length=32)] = Field(default_factory=dict)


class DerivedOut(Answer):
    """One requirement, the formula of its bound, and the formula with the values in it."""

    requirement: RequirementOut
    formula: str
    arithmetic: str


class ParameterOut(Answer):
    """A parameter, its meaning and the value that was used."""

    name: str
    definition: str
    value: str


class ExpansionOut(Answer):
    """What a sentence was understood as, and what follows.  Nothing is stored."""

    workload: str
    phrase: str
    definition: str
    parameters: list[ParameterOut]
    derived: list[DerivedOut]
