"""Nodes: what their agents announce, and which of them are heard of."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from ses_service.api import operations, render
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import failures
from ses_service.api.schemas.nodes import AnnouncementIn, AnnouncementTaken, NodeList
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

blueprint = APIBlueprint("nodes", __name__, tag="nodes")


@blueprint.post(operations.ANNOUNCE.route)
@allow(*operations.ANNOUNCE.roles)
@blueprint.input(AnnouncementIn)
@blueprint.output(AnnouncementTaken)
@blueprint.doc(responses=failures(503, body=True))
def announce(node: str, json_data: AnnouncementIn) -> Response:
    """Announce files and a sign of life

    What is open on a node stays open as long as its agent is heard of.  The same announcement again changes
    nothing.
    """
    return operations.announce(runtime(), caller(), json_data, node).response()


@blueprint.get("/v1/nodes")
@allow(Role.ADMIN)
@blueprint.output(NodeList)
@blueprint.doc(responses=failures())
def nodes() -> Response:
    """List the nodes whose agents are heard of"""
    return render.answer({"nodes": [render.node(one, count) for one, count in runtime().state.nodes()]})
