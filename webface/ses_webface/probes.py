"""Endpoints for machines, without sign-in: /healthz, /readyz, /metrics.

Ready means that the database answers.  The selection service is reported but does not make the
portal unready: without it people read so on the page, which a balancer's 503 would hide.
"""

from flask import Blueprint, Response, jsonify
from ses_client.errors import SesError
from sqlalchemy.exc import SQLAlchemyError

from ses_webface.portal import portal
from ses_webface.web_security import open_to_all

blueprint = Blueprint("probes", __name__)


@blueprint.get("/healthz")
@open_to_all
def healthz() -> Response:
    """Answer whenever the process does."""
    return jsonify(status="ok")


@blueprint.get("/readyz")
@open_to_all
def readyz() -> tuple[Response, int]:
    """Say whether the portal can serve people, and what it depends on."""
    database, service = "", ""
    try:
        portal().database.check()
    except SQLAlchemyError as error:
        database = str(getattr(error, "orig", None) or error).splitlines()[0]
    try:
        portal().selection.check()
    except SesError as error:
        service = str(error)
    checks = [
        {"name": "database", "ok": not database, "detail": database},
        {"name": "selection-service", "ok": not service, "detail": service},
    ]
    return jsonify(ready=not database, checks=checks), 503 if database else 200


@blueprint.get("/metrics")
@open_to_all
def metrics() -> Response:
    """Give the metrics in Prometheus' text format."""
    return Response(portal().metrics.exposition(), mimetype="text/plain; version=0.0.4")
