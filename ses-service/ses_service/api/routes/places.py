"""``/v1/places``: directories that are given with a claim."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.places import Place, PlaceGiven, PlaceList

from ses_service.api import operations, places, render
from ses_service.api.authentication import allow, caller
from ses_service.api.callers import whose
from ses_service.api.contract import answers
from ses_service.api.schemas.places import PlaceRequest, PlacesQuery, ReleaseQuery, Renewal
from ses_service.ledger.placement import Placement
from ses_service.ledger.places import OF_DIRECTORIES
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE

blueprint = APIBlueprint("places", __name__, tag="places")


@blueprint.post(operations.PLACE.route)
@allow(*operations.PLACE.roles)
@blueprint.input(PlaceRequest)
@blueprint.doc(responses=answers(PlaceGiven, 409, 503, body=True))
def give(json_data: PlaceRequest) -> Response:
    """Give a directory, with a claim on it

    Chooses as for files, and claims in one step.  The place counts as load and as claimed space until it
    ends.  It is stored before it is answered, if there is a database.  A size that is stated fits beside the
    claims there; where it fits nowhere the answer is 409, and `refused` says why of each element.
    """
    return places.give(runtime(), caller(), json_data).response()


@blueprint.get("/v1/places")
@allow(*PEOPLE)
@blueprint.input(PlacesQuery, location="query")
@blueprint.doc(responses=answers(PlaceList, 422))
def listed(query_data: PlacesQuery) -> Response:
    """List places, the latest first

    A person sees their own.
    """
    asked, now = query_data, runtime()
    user = whose(caller(), asked.user, "places")

    def accept(placement: Placement) -> bool:
        return (
            placement.held is not None
            and placement.state.value == asked.state
            and user in (None, placement.subject.user)
            and asked.path in (None, placement.path)
            and asked.storage_system in (None, placement.element.storage_system)
        )

    wanted = {"state": asked.state, "user": user, "path": asked.path, "backend": OF_DIRECTORIES}
    exact = {name: value for name, value in wanted.items() if value is not None}
    placements = now.placements.listed(accept, asked.limit, exact)
    return render.answer(PlaceList(places=[places.shown(now, entry) for entry in placements]))


@blueprint.get("/v1/places/<place_id>")
@allow()
@blueprint.doc(responses=answers(PlaceGiven, 404), operation_id="get_places_one")
def place(place_id: str) -> Response:
    """Explain a place"""
    now = runtime()
    placement = now.placements.explained(places.find(now, caller(), place_id))
    return render.answer(places.explained(now, placement))


@blueprint.post(operations.RENEW.route)
@allow(*operations.RENEW.roles)
@blueprint.input(Renewal)
@blueprint.doc(responses=answers(Place, 404, 409, body=True))
def renew(place_id: str, json_data: Renewal) -> Response:
    """Renew a place

    One that ended because nobody renewed it goes on.
    """
    return operations.RENEW.run(runtime(), caller(), json_data, place_id).response()


@blueprint.delete("/v1/places/<place_id>")
@allow()
@blueprint.input(ReleaseQuery, location="query")
@blueprint.doc(responses=answers(Place, 404, 422))
def release(place_id: str, query_data: ReleaseQuery) -> Response:
    """End a place

    The directory stays.  Ending it again changes nothing.
    """
    now = runtime()
    return render.answer(places.shown(now, places.end(now, caller(), place_id, query_data.written_bytes)))
