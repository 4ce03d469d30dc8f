"""Health, readiness and metrics; open to everyone, and telling nobody's business."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from ses_service import render
from ses_service.contract import also
from ses_service.desk import NoEnvironmentError
from ses_service.runtime import runtime
from ses_service.schemas.answers import Health, Readiness

blueprint = APIBlueprint("health", __name__, tag="health")


@blueprint.get("/healthz")
@blueprint.output(Health)
def healthz() -> Response:
    """Say that the process answers"""
    return render.answer({"status": "ok"})


@blueprint.get("/readyz")
@blueprint.output(Readiness)
@blueprint.doc(
    responses=also(
        503, "Something is missing.", "application/json", {"$ref": "#/components/schemas/Readiness"}
    )
)
def readyz() -> Response:
    """Say whether decisions can be made, and what is missing

    Needs the site to have been read once and the knowledge base to answer.  A monitor that is away is
    shown and does not make the service unready: decisions are then made from static facts and ledger.  Nor
    does a database that is away: the record of placements is then in memory only.
    """
    now = runtime()
    base, monitor = now.keeper.status, now.observer.status
    try:
        elements = len(now.desk.environment.elements)
        site = {"name": "site", "ok": True, "detail": f"{elements} elements"}
    except NoEnvironmentError as error:
        site = {"name": "site", "ok": False, "detail": str(error)}
    checks = [
        {"name": "knowledge-base", "ok": base.reachable, "detail": base.detail},
        site,
        {"name": "monitor", "ok": monitor.reachable, "detail": monitor.detail},
    ]
    if now.journal is not None:
        stored = now.journal.status
        checks.append({"name": "database", "ok": stored.ok, "detail": f"{stored.name}: {stored.detail}"})
    ready = bool(checks[0]["ok"] and checks[1]["ok"])
    return render.answer({"ready": ready, "checks": checks}, 200 if ready else 503)


@blueprint.get("/metrics")
@blueprint.doc(responses=also(200, "Metrics.", "text/plain", {"type": "string"}))
def metrics() -> Response:
    """Give metrics in Prometheus' text format"""
    return Response(runtime().metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")
