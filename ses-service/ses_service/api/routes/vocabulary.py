"""What people can require, and in which units: the vocabulary, for portals and commands."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from ses_service.api import render
from ses_service.api.authentication import allow
from ses_service.api.contract import failures
from ses_service.api.schemas.vocabulary import VocabularyOut
from ses_service.knowledge.vocabulary import vocabulary as read_vocabulary

blueprint = APIBlueprint("vocabulary", __name__, tag="vocabulary")


@blueprint.get("/v1/vocabulary")
@allow()
@blueprint.output(VocabularyOut)
@blueprint.doc(responses=failures())
def vocabulary() -> Response:
    """List the kinds of requirement and the profiles there are"""
    known = read_vocabulary()
    return render.answer(
        {
            "kinds": [render.kind(one.described) for one in known.metrics.values()],
            "profiles": [render.profile(one) for one in known.profiles.values()],
        }
    )
