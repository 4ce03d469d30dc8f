"""What people can require, and in which units: the vocabulary, for portals and commands."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.vocabulary import Vocabulary, Workload

from ses_service.api import render
from ses_service.api.authentication import allow
from ses_service.api.contract import answers
from ses_service.knowledge.profiles import profiles_by_name
from ses_service.knowledge.vocabulary import vocabulary as read_vocabulary
from ses_service.process.runtime import runtime

blueprint = APIBlueprint("vocabulary", __name__, tag="vocabulary")


@blueprint.get("/v1/vocabulary")
@allow()
@blueprint.doc(responses=answers(Vocabulary))
def vocabulary() -> Response:
    """List the kinds of requirement, the profiles and the sentences about programs there are

    Profiles of the vocabulary come first, then those people stored.  Everybody may read and take up all.
    """
    known = read_vocabulary()
    profiles = profiles_by_name(runtime().state.sets.values())
    return render.answer(
        Vocabulary(
            kinds=[render.kind(metric.described) for metric in known.metrics.values()],
            profiles=[render.profile(profile) for profile in profiles.values()],
            workloads=[
                Workload(workload=workload.name, definition=workload.definition, example=workload.example)
                for workload in sorted(known.workloads.values(), key=lambda workload: workload.name)
            ],
        )
    )
