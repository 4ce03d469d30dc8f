"""Placements: which there are, and why each is where it is."""

from ses_client.messages.selections import PlacementList, PlacementRecord

from ses_service.api import operations, render
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.problems import ForbiddenProblem
from ses_service.api.schemas.requests import PlacementQuery
from ses_service.ledger.placement import Placement, PlacementState
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role
from ses_service.state.state import NoEnvironmentError

area = Area("placements")


@area.answers("GET /v1/placements", PlacementList, query=PlacementQuery)
def placements(asked: PlacementQuery) -> PlacementList:
    """List placements, the latest first

    A person sees their own, an agent those of its node.  `device` and `inode` go together and find a file
    whatever it is called now; the number of a file that is gone may be another file's later.
    """
    who = caller()

    def accept(placement: Placement) -> bool:
        return (
            (who.role is not Role.USER or placement.subject.user == who.user)
            and who.speaks_for(placement.subject.node)
            and (asked.path is None or placement.path == asked.path)
            and (asked.inode is None or (placement.device, placement.inode) == (asked.device, asked.inode))
            and (asked.user is None or placement.subject.user == asked.user)
            and (asked.element is None or placement.element.id == asked.element)
            and (asked.state is None or placement.state is PlacementState(asked.state))
        )

    wanted = {
        "user": who.user if who.role is Role.USER else asked.user,
        "path": asked.path,
        "device": None if asked.device is None else str(asked.device),
        "inode": asked.inode,
        "node": who.node if who.role is Role.NODE else None,
        "state": asked.state,
    }
    exact = {name: value for name, value in wanted.items() if value is not None}
    listed = runtime().placements.listed(accept, asked.limit, exact, asked.element)
    return PlacementList(placements=[render.placement_summary(placement) for placement in listed])


@area.answers("GET /v1/placements/<placement_id>", PlacementRecord, 404)
def placement(placement_id: str) -> PlacementRecord:
    """Explain a placement

    With the first ranks and the refused elements at the moment of the decision.
    """
    record = runtime().placements.placement(placement_id)
    who = caller()
    if who.role is Role.USER and record.subject.user != who.user:
        raise ForbiddenProblem("This placement belongs to somebody else.")
    if not who.speaks_for(record.subject.node):
        raise ForbiddenProblem("This placement is on another node.")
    explained = runtime().placements.explained(record)
    try:
        now = runtime().state.predicted_now(explained)
    except NoEnvironmentError:
        now = ()
    return render.placement_record(explained, now, operations.backends(runtime()))
