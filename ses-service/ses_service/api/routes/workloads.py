"""``POST /v1/workloads/expansions``: what follows from a sentence about a program.  Stores nothing."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.vocabulary import Derived, Expansion, Parameter

from ses_service.api import render
from ses_service.api.authentication import allow
from ses_service.api.contract import answers
from ses_service.api.problems import InvalidProblem
from ses_service.api.schemas.workloads import WorkloadIn
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.knowledge.workloads import WorkloadError, expand
from ses_service.model.entities import Requirement

blueprint = APIBlueprint("workloads", __name__, tag="vocabulary")


@blueprint.post("/v1/workloads/expansions")
@allow(changes=False)
@blueprint.input(WorkloadIn)
@blueprint.doc(responses=answers(Expansion, body=True))
def expansion(json_data: WorkloadIn) -> Response:
    """Work out what a sentence about a program requires

    By the workloads of the vocabulary; each requirement comes with its arithmetic.
    """
    known = vocabulary()
    try:
        expanded = expand(known.workloads.values(), json_data.sentence, json_data.values)
    except WorkloadError as error:
        of_value = error.parameter in json_data.values
        location = f"json.values.{error.parameter}" if of_value else "json.sentence"
        raise InvalidProblem([{"location": location, "message": str(error)}]) from None
    return render.answer(
        Expansion(
            workload=expanded.workload.name,
            phrase=expanded.workload.phrase,
            definition=expanded.workload.definition,
            parameters=[
                Parameter(
                    name=parameter.name,
                    definition=parameter.definition,
                    value=expanded.values[parameter.name],
                )
                for parameter in expanded.workload.parameters.values()
            ],
            derived=[
                Derived(
                    requirement=render.requirement(
                        Requirement(
                            derived.kind, derived.bound, known.metrics[derived.kind.value].described.weight
                        )
                    ),
                    formula=derived.formula,
                    arithmetic=derived.arithmetic,
                )
                for derived in expanded.derived
            ],
        )
    )
