"""Placements: which there are, and why each is where it is."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.selections import PlacementList, PlacementRecord

from ses_service.api import operations, render
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import answers
from ses_service.api.problems import ForbiddenProblem
from ses_service.api.schemas.requests import PlacementQuery
from ses_service.ledger.placement import Placement, PlacementState
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role
from ses_service.state.state import NoEnvironmentError

blueprint = APIBlueprint("placements", __name__, tag="placements")


@blueprint.get("/v1/placements")
@allow()
@blueprint.input(PlacementQuery, location="query")
@blueprint.doc(responses=answers(PlacementList, 422))
def placements(query_data: PlacementQuery) -> Response:
    """List placements, the latest first

    A person sees their own, an agent those of its node.  `device` and `inode` go together and find a file
    whatever it is called now; the number of a file that is gone may be another file's later.
    """
    who = caller()
    wanted = query_data

    def accept(placement: Placement) -> bool:
        return (
            (who.role is not Role.USER or placement.subject.user == who.user)
            and who.speaks_for(placement.subject.node)
            and (wanted.path is None or placement.path == wanted.path)
            and (wanted.inode is None or (placement.device, placement.inode) == (wanted.device, wanted.inode))
            and (wanted.user is None or placement.subject.user == wanted.user)
            and (wanted.element is None or placement.element.id == wanted.element)
            and (wanted.state is None or placement.state is PlacementState(wanted.state))
        )

    asked = {
        "user": who.user if who.role is Role.USER else wanted.user,
        "path": wanted.path,
        "device": None if wanted.device is None else str(wanted.device),
        "inode": wanted.inode,
        "node": who.node if who.role is Role.NODE else None,
        "state": wanted.state,
    }
    exact = {name: value for name, value in asked.items() if value is not None}
    listed = runtime().placements.listed(accept, wanted.limit, exact, wanted.element)
    return render.answer(
        PlacementList(placements=[render.placement_summary(placement) for placement in listed])
    )


@blueprint.get("/v1/placements/<placement_id>")
@allow()
@blueprint.doc(responses=answers(PlacementRecord, 404))
def placement(placement_id: str) -> Response:
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
    return render.answer(render.placement_record(explained, now, operations.backends(runtime())))
