"""``POST /v1/workloads/expansions``: what follows from a sentence about a program.  Stores nothing."""

from typing import Annotated

from pydantic import Field
from ses_client.messages.vocabulary import Derived, Expansion, Parameter

from ses_service.api import render
from ses_service.api.area import Area
from ses_service.api.problems import invalid
from ses_service.api.schemas.requests import Body, Text
from ses_service.knowledge import workloads
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.knowledge.workloads import WorkloadError, expand
from ses_service.model.entities import Requirement

area = Area("workloads", tag="vocabulary")

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class WorkloadIn(Body):
    """A sentence such as `checkpoint of 4 TB every 30 min by 512 ranks`.

    `values` gives parameters that it does not have, such as `{"share": "10 %"}`.
    """

    sentence: Annotated[Text, Field(examples=["checkpoint of 4 TB every 30 min by 512 ranks"])]
    values: Annotated[dict[_Name, Text], Field(max_length=32)] = Field(default_factory=dict)


@area.answers("POST /v1/workloads/expansions", Expansion, body=WorkloadIn, changes=False)
def expansion(asked: WorkloadIn) -> Expansion:
    """Work out what a sentence about a program requires

    By the workloads of the vocabulary; each requirement comes with its arithmetic.
    """
    try:
        expanded = expand(vocabulary().workloads.values(), asked.sentence, asked.values)
    except WorkloadError as error:
        of_value = error.parameter in asked.values
        location = f"json.values.{error.parameter}" if of_value else "json.sentence"
        raise invalid(location, str(error)) from None
    workload = expanded.workload
    return Expansion(
        workload=workload.name,
        phrase=workload.phrase,
        definition=workload.definition,
        parameters=[
            Parameter(name=parameter.name, definition=parameter.definition, value=expanded.values[name])
            for name, parameter in workload.parameters.items()
        ],
        derived=[_derived(derived) for derived in expanded.derived],
    )


def _derived(derived: workloads.Derived) -> Derived:
    weight = vocabulary().metrics[derived.kind.value].described.weight
    requirement = Requirement(derived.kind, derived.bound, weight)
    return Derived(
        requirement=render.requirement(requirement), formula=derived.formula, arithmetic=derived.arithmetic
    )
