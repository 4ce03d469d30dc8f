"""Health, readiness and metrics; open to everyone, and without anything about persons."""

from flask import Response
from ses_client.messages.elements import Check, Health, Readiness

from ses_service.api import render, versions
from ses_service.api.area import Area
from ses_service.api.contract import also, says
from ses_service.process.readiness import ready
from ses_service.process.runtime import runtime

area = Area("health")


@area.get("/healthz")
@area.doc(responses=says(Health))
def healthz() -> Response:
    """Say that the process answers"""
    return render.answer(Health(status="ok"))


@area.get("/readyz")
@area.doc(responses={**says(Readiness), **says(Readiness, 503, "The site was never read.")})
def readyz() -> Response:
    """Say whether decisions can be made, and what is missing

    Ready as soon as the site was read, now or, while the knowledge base is away, by an earlier start.
    `degraded`: decisions are made, with less than there should be; the checks that are not `ok` say what is
    away.  Without the knowledge base the last site and requirements are used and cannot be changed, without
    the monitor static facts and the ledger decide, without the database placements are recorded in memory,
    without the directory members are those last read.  `damaged-ledger`: a damaged file was set aside, and
    placements of before are known again after `ses-service repair-ledger`.
    """
    checks = runtime().readiness.checks()
    is_ready = ready(checks)
    degraded = is_ready and not all(check.ok for check in checks)
    shown = [Check.like(check) for check in checks]
    body = Readiness(ready=is_ready, degraded=degraded, version=versions.OWN, checks=shown)
    return render.answer(body, 200 if is_ready else 503)


@area.get("/metrics")
@area.doc(responses=also(200, "Metrics.", "text/plain", {"type": "string"}))
def metrics() -> Response:
    """Give metrics in Prometheus' text format"""
    return Response(runtime().metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")
