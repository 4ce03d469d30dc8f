"""Nodes: which suit a task, what their agents announce, and which of them report."""

from ses_client.messages.announcements import AnnouncementTaken
from ses_client.messages.nodes import HeardNodes, NodeCalibration, NodeClasses, NodeSelection

from ses_service.api import operations, render_nodes
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.problems import NotFoundProblem
from ses_service.api.render import Reply
from ses_service.api.schemas.node_selections import NodeSelectionRequest
from ses_service.api.schemas.nodes import AnnouncementIn
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

area = Area("nodes")


@area.answers(
    f"POST {operations.ANNOUNCE.route}",
    AnnouncementTaken,
    roles=operations.ANNOUNCE.roles,
    body=AnnouncementIn,
)
def announce(node: str, asked: AnnouncementIn) -> Reply:
    """Announce files and a sign of life

    What is open on a node stays open as long as its agent announces.  The same announcement again changes
    nothing.
    """
    return operations.announce(runtime(), caller(), asked, node)


@area.answers("GET /v1/nodes", HeardNodes, roles=(Role.PORTAL, Role.ADMIN))
def nodes() -> HeardNodes:
    """List the nodes whose agents report"""
    state = runtime().state
    heard = [render_nodes.node(node, count, caller()) for node, count in state.nodes()]
    silent = [render_nodes.node(node, 0, caller()) for node in state.silent_nodes()]
    return HeardNodes(nodes=heard, silent=silent)


@area.answers("POST /v1/nodes/selections", NodeSelection, body=NodeSelectionRequest, changes=False)
def select_nodes(asked: NodeSelectionRequest) -> Reply:
    """Rank the nodes for a task

    Predicts for each node what a stream of the task would get of the best elements it can reach, over its own
    link and those it shares, beside what is open there already.  Nodes that miss a hard requirement are
    refused, with a reason.  Changes nothing.
    """
    return operations.select_nodes(runtime(), caller(), asked)


@area.answers("GET /v1/node-classes", NodeClasses)
def node_classes() -> NodeClasses:
    """List the classes of nodes

    Nodes that are alike, what they mount, their links, and how many of their agents report.
    """
    classes = runtime().state.node_classes()
    return NodeClasses(node_classes=[render_nodes.node_class(entry, caller()) for entry in classes])


@area.answers("GET /v1/nodes/<node>/calibration", NodeCalibration, 404)
def calibration(node: str) -> NodeCalibration:
    """Say what a node was measured to give to streaming programs

    The latest calibration that the knowledge base has of it.
    """
    measured = runtime().state.environment.calibrations.get(node)
    if measured is None:
        raise NotFoundProblem(f"Node {node} was not calibrated.")
    return render_nodes.calibration(measured)
