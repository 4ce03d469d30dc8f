"""The health page, for administrators: which parts work, and which node or exporter is silent."""

from __future__ import annotations

from importlib.metadata import version

from flask import Blueprint, abort, render_template
from ses_client.answers.element_groups import Exporters
from ses_client.answers.elements import Readiness
from ses_client.errors import SesError

from ses_webface.health.services import MOST_NODES, Fleet, configuration_of, fleet_of, parts_of
from ses_webface.portal import person, service

blueprint = Blueprint("health", __name__, url_prefix="/health")


@blueprint.get("")
def overview() -> str:
    """Show every part; what cannot be asked is said, and the rest is shown."""
    if not person().is_admin:
        abort(403)
    problems: list[str] = []
    readiness, shown, fleet = _readiness(problems), _exporters(problems), _fleet(problems)
    return render_template(
        "health/overview.html",
        parts=parts_of(readiness, shown, version("qstorman-webface")),
        own=readiness.version,
        configuration=configuration_of(readiness),
        shown=shown,
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


def _exporters(problems: list[str]) -> Exporters | None:
    try:
        return service().exporters()
    except SesError as error:
        problems.append(str(error))
        return None


def _fleet(problems: list[str]) -> Fleet | None:
    try:
        return fleet_of(service().nodes(), service().node_classes())
    except SesError as error:
        problems.append(str(error))
        return None
