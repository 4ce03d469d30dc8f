"""The health page, for administrators: which links hold, and which node or exporter is silent."""

from __future__ import annotations

from importlib.metadata import version

from flask import Blueprint, abort, render_template
from ses_client.answers.elements import Inventory, Readiness
from ses_client.errors import SesError

from ses_webface.links.services import MOST_NODES, Fleet, configuration_of, exporters_of, fleet_of, links_of
from ses_webface.portal import person, service

blueprint = Blueprint("links", __name__, url_prefix="/health")


@blueprint.get("")
def overview() -> str:
    """Show every link; what cannot be asked is said, and the rest is shown."""
    if not person().is_admin:
        abort(403)
    problems: list[str] = []
    readiness, inventory, fleet = _readiness(problems), _inventory(problems), _fleet(problems)
    return render_template(
        "links/overview.html",
        links=links_of(readiness, inventory, version("qstorman-webface")),
        own=readiness.version,
        configuration=configuration_of(readiness),
        exporters=[] if inventory is None else exporters_of(inventory.elements),
        fleet=fleet,
        problems=list(dict.fromkeys(problems)),
        most=MOST_NODES,
    )


def _readiness(problems: list[str]) -> Readiness:
    try:
        return service().readiness()
    except SesError as error:
        problems.append(str(error))
        return Readiness(ready=False, checks=())


def _inventory(problems: list[str]) -> Inventory | None:
    try:
        return service().elements()
    except SesError as error:
        problems.append(str(error))
        return None


def _fleet(problems: list[str]) -> Fleet | None:
    try:
        return fleet_of(service().nodes(), service().node_classes())
    except SesError as error:
        problems.append(str(error))
        return None
