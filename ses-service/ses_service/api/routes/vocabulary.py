"""What people can require, and in which units: the vocabulary, for portals and commands."""

from ses_client.messages.vocabulary import Vocabulary, Workload

from ses_service.api import render
from ses_service.api.area import Area
from ses_service.knowledge.profiles import profiles_by_name
from ses_service.knowledge.vocabulary import vocabulary as read_vocabulary
from ses_service.process.runtime import runtime

area = Area("vocabulary")


@area.answers("GET /v1/vocabulary", Vocabulary)
def vocabulary() -> Vocabulary:
    """List the kinds of requirement, the profiles and the sentences about programs there are

    Profiles of the vocabulary come first, then those people stored.  Everybody may read and take up all.
    """
    known = read_vocabulary()
    profiles = profiles_by_name(runtime().state.sets.values())
    return Vocabulary(
        kinds=[render.kind(metric.described) for metric in known.metrics.values()],
        profiles=[render.profile(profile) for profile in profiles.values()],
        workloads=[
            Workload(workload=workload.name, definition=workload.definition, example=workload.example)
            for workload in sorted(known.workloads.values(), key=lambda workload: workload.name)
        ],
    )
