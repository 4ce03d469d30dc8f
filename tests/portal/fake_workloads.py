"""The sentences part of the selection service inside the process: the service's own rules, without HTTP."""

from collections.abc import Mapping

from ses_client.errors import RefusedError
from ses_client.messages.requirements import required
from ses_client.messages.vocabulary import Derived, Expansion, Parameter, Workload
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.knowledge.workloads import WorkloadError, expand

WORKLOADS = tuple(
    Workload(workload=workload.name, definition=workload.definition, example=workload.example)
    for workload in sorted(vocabulary().workloads.values(), key=lambda workload: workload.name)
)


class WorkloadsInMemory:
    """Understands the sentences of the vocabulary; bounds are in the units of their kinds."""

    def expand(self, sentence: str, values: Mapping[str, str]) -> Expansion:
        self._called()
        try:
            meant = expand(vocabulary().workloads.values(), sentence, values)
        except WorkloadError as error:
            at = f"json.values.{error.parameter}" if error.parameter in values else "json.sentence"
            raise RefusedError(f"The request cannot be right in {at}.", 422, ((at, str(error)),)) from None
        parameters = meant.workload.parameters.values()
        return Expansion(
            workload=meant.workload.name,
            definition=meant.workload.definition,
            parameters=tuple(
                Parameter(
                    name=parameter.name, definition=parameter.definition, value=meant.values[parameter.name]
                )
                for parameter in parameters
            ),
            derived=tuple(
                Derived(
                    requirement=required(
                        derived.kind.value, derived.bound / derived.kind.size, derived.kind.unit
                    ),
                    arithmetic=derived.arithmetic,
                )
                for derived in meant.derived
            ),
        )
