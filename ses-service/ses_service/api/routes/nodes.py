"""Nodes: which suit a task, what their agents announce, and which of them report."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.announcements import AnnouncementTaken
from ses_client.messages.nodes import HeardNodes, NodeCalibration, NodeClasses, NodeSelection

from ses_service.api import operations, render, render_nodes
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import answers
from ses_service.api.problems import NotFoundProblem
from ses_service.api.schemas.node_selections import NodeSelectionRequest
from ses_service.api.schemas.nodes import AnnouncementIn
from ses_service.process.runtime import runtime
from ses_service.security.tokens import EVERYONE, Role

blueprint = APIBlueprint("nodes", __name__, tag="nodes")


@blueprint.post(operations.ANNOUNCE.route)
@allow(*operations.ANNOUNCE.roles)
@blueprint.input(AnnouncementIn)
@blueprint.doc(responses=answers(AnnouncementTaken, 503, body=True))
def announce(node: str, json_data: AnnouncementIn) -> Response:
    """Announce files and a sign of life

    What is open on a node stays open as long as its agent announces.  The same announcement again changes
    nothing.
    """
    return operations.announce(runtime(), caller(), json_data, node).response()


@blueprint.get("/v1/nodes")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.doc(responses=answers(HeardNodes))
def nodes() -> Response:
    """List the nodes whose agents report"""
    state = runtime().state
    heard = [render_nodes.node(node, count, caller()) for node, count in state.nodes()]
    silent = [render_nodes.node(node, 0, caller()) for node in state.silent_nodes()]
    return render.answer(HeardNodes(nodes=heard, silent=silent))


@blueprint.post("/v1/nodes/selections")
@allow(*EVERYONE, changes=False)
@blueprint.input(NodeSelectionRequest)
@blueprint.doc(responses=answers(NodeSelection, 503, body=True))
def select_nodes(json_data: NodeSelectionRequest) -> Response:
    """Rank the nodes for a task

    Predicts for each node what a stream of the task would get of the best elements it can reach, over its own
    link and those it shares, beside what is open there already.  Nodes that miss a hard requirement are
    refused, with a reason.  Changes nothing.
    """
    return operations.select_nodes(runtime(), caller(), json_data).response()


@blueprint.get("/v1/node-classes")
@allow(*EVERYONE)
@blueprint.doc(responses=answers(NodeClasses))
def node_classes() -> Response:
    """List the classes of nodes

    Nodes that are alike, what they mount, their links, and how many of their agents report.
    """
    classes = runtime().state.node_classes()
    return render.answer(
        NodeClasses(node_classes=[render_nodes.node_class(node_class, caller()) for node_class in classes])
    )


@blueprint.get("/v1/nodes/<node>/calibration")
@allow(*EVERYONE)
@blueprint.doc(responses=answers(NodeCalibration, 404))
def calibration(node: str) -> Response:
    """Say what a node was measured to give to streaming programs

    The latest calibration that the knowledge base has of it.
    """
    measured = runtime().state.environment.calibrations.get(node)
    if measured is None:
        raise NotFoundProblem(f"Node {node} was not calibrated.")
    return render.answer(render_nodes.calibration(measured))
