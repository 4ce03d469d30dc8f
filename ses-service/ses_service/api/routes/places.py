"""``/v1/places``: directories that are given with a claim."""

from ses_client.messages.places import Place, PlaceGiven, PlaceList

from ses_service.api import operations, places
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import whose
from ses_service.api.render import Reply
from ses_service.api.schemas.places import PlaceRequest, PlacesQuery, ReleaseQuery, Renewal
from ses_service.ledger.placement import Placement
from ses_service.ledger.places import OF_DIRECTORIES
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE

area = Area("places")


@area.answers(
    f"POST {operations.PLACE.route}", PlaceGiven, 409, roles=operations.PLACE.roles, body=PlaceRequest
)
def give(asked: PlaceRequest) -> Reply:
    """Give a directory, with a claim on it

    Chooses as for files, and claims in one step.  The place counts as load and as claimed space until it
    ends.  It is stored before it is answered, if there is a database.  A size that is stated fits beside the
    claims there; where it fits nowhere the answer is 409, and `refused` says why of each element.
    """
    return places.give(runtime(), caller(), asked)


@area.answers("GET /v1/places", PlaceList, roles=PEOPLE, query=PlacesQuery)
def listed(asked: PlacesQuery) -> PlaceList:
    """List places, the latest first

    A person sees their own.
    """
    now, user = runtime(), whose(caller(), asked.user, "places")

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
    return PlaceList(places=[places.shown(now, entry) for entry in placements])


@area.answers("GET /v1/places/<place_id>", PlaceGiven, 404, operation_id="get_places_one")
def place(place_id: str) -> PlaceGiven:
    """Explain a place"""
    now = runtime()
    placement = now.placements.explained(places.find(now, caller(), place_id))
    return places.explained(now, placement)


@area.answers(f"POST {operations.RENEW.route}", Place, 404, 409, roles=operations.RENEW.roles, body=Renewal)
def renew(place_id: str, asked: Renewal) -> Reply:
    """Renew a place

    One that ended because nobody renewed it goes on.
    """
    return operations.RENEW.run(runtime(), caller(), asked, place_id)


@area.answers("DELETE /v1/places/<place_id>", Place, 404, query=ReleaseQuery)
def release(place_id: str, asked: ReleaseQuery) -> Place:
    """End a place

    The directory stays.  Ending it again changes nothing.
    """
    now = runtime()
    return places.shown(now, places.end(now, caller(), place_id, asked.written_bytes))
