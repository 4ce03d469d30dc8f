"""The health page, for administrators: which parts work, and which node or exporter is silent."""

from collections.abc import Callable
from importlib.metadata import version
from typing import TypeVar

from flask import Blueprint, render_template
from ses_client.errors import SesError
from ses_client.messages.elements import Readiness

from ses_webface.health.services import MAX_NODES, configuration_of, fleet_of, parts_of
from ses_webface.portal import administrators_only, away, note_away, service

blueprint = Blueprint("health", __name__, url_prefix="/health")
blueprint.before_request(administrators_only)
T = TypeVar("T")


@blueprint.get("")
def overview() -> str:
    """Show every part; what cannot be asked is named, and the rest is shown."""
    problems: list[str] = []
    readiness = _answer_of(service().readiness, problems) or Readiness(ready=False, checks=())
    shown = _answer_of(service().exporters, problems)
    fleet = _answer_of(lambda: fleet_of(service().nodes(), service().node_classes()), problems)
    return render_template(
        "health/overview.html",
        parts=parts_of(readiness, shown, version("qstorman-webface")),
        own=readiness.version,
        configuration=configuration_of(readiness),
        shown=shown,
        fleet=fleet,
        problems=list(dict.fromkeys(problems)),
        most=MAX_NODES,
    )


def _answer_of(question: Callable[[], T], problems: list[str]) -> T | None:
    """Return the answer; None where there is none, with the reason among ``problems``."""
    if away():
        return None
    try:
        return question()
    except SesError as error:
        note_away(error)
        problems.append(str(error))
        return None
