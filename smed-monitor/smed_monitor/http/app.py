"""The HTTP side.  Reads the table and nothing else; changes nothing."""

from dataclasses import asdict
from math import ceil
from typing import Any

from apiflask import APIBlueprint, APIFlask
from apiflask.exceptions import HTTPError
from flask import Response, current_app, request
from prometheus_client import CONTENT_TYPE_LATEST

from smed_monitor.core.model import ONE_SIDED, PULL, now
from smed_monitor.http.edge import BusyError, Edge, Readers, headers
from smed_monitor.http.metrics import exposition
from smed_monitor.http.problems import problem_response
from smed_monitor.http.schemas import (
    MAX_STEPS,
    Check,
    HealthOut,
    HistoryOut,
    HistoryQuery,
    ObservationsOut,
    ObservationsQuery,
    Problem,
    QuotasOut,
    ReadinessOut,
)
from smed_monitor.scraping.monitor import Monitor
from smed_monitor.state.element_history import element_history

CONTRACT_VERSION = "1.0.0"
MONITOR = "SMED_MONITOR"
READERS = "SMED_READERS"
Responses = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]


def _with_schema(description: str, media: str, schema: str) -> dict[str, str | dict[str, dict[str, Any]]]:
    content = {media: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "content": content}


_PROBLEM = "application/problem+json", "Problem"
REFUSED: Responses = {
    422: _with_schema("A parameter is unknown or has a wrong value.", *_PROBLEM),
    503: _with_schema("Too many requests wait already.", *_PROBLEM),
}
UNKNOWN: Responses = {404: _with_schema("There is no such element.", *_PROBLEM)}
UNCHANGED: Responses = {304: {"description": "Nothing is newer than what `If-None-Match` names."}}
NOT_READY: Responses = {
    503: _with_schema("Not ready; the checks say why.", "application/json", "ReadinessOut")
}
EXPOSITION: Responses = {200: {"description": "Prometheus text format.", "content": {"text/plain": {}}}}

api = APIBlueprint("observations", __name__, tag="Monitor")


def create_app(monitor: Monitor, *, max_waiting: int = 24) -> APIFlask:
    """The application around ``monitor``, which the caller starts and stops.

    At most ``max_waiting`` requests wait at a time; the server must have more threads than that,
    so that the others are answered at once.
    """
    app = APIFlask(__name__, title="QStorMan smed-monitor", version=CONTRACT_VERSION, docs_path=None)
    app.config[MONITOR] = monitor
    readers = app.config[READERS] = Readers(monitor, max_waiting)
    app.config["AUTO_VALIDATION_ERROR_RESPONSE"] = False
    app.config["AUTO_SERVERS"] = False
    app.description = "How loaded every storage element is, and how old each figure is."
    app.error_processor(problem_response)
    app.spec_processor(_with_problem)
    app.register_blueprint(api)
    app.wsgi_app = Edge(app.wsgi_app, readers)  # type: ignore[method-assign]
    return app


def _with_problem(spec: Any) -> Any:
    """Add the schema of errors, which no view returns by itself."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    spec["components"]["schemas"].update(schema.pop("$defs"))
    spec["components"]["schemas"]["Problem"] = schema
    return spec


def _monitor() -> Monitor:
    monitor: Monitor = current_app.config[MONITOR]
    return monitor


def _readers() -> Readers:
    readers: Readers = current_app.config[READERS]
    return readers


def _busy(detail: str) -> HTTPError:
    return HTTPError(503, detail, headers={"Retry-After": "1"})


@api.get("/v1/observations")
@api.input(ObservationsQuery, location="query", arg_name="query")
@api.output(ObservationsOut)
@api.doc(responses=REFUSED | UNCHANGED)
def observations(query: ObservationsQuery) -> Response:
    """The latest observation of every element, or of those that changed.

    With `wait` the answer comes when a scrape has ended, well or badly, after sequence `after` (or after
    the one `If-None-Match` names), or when the time is over, whichever is first.  A reader that has the
    present sequence already gets 304 for its `If-None-Match`.
    """
    try:
        tag, address = request.headers.get("If-None-Match", ""), request.remote_addr or ""
        answer = _readers().answer(query, tag, address)
    except BusyError:
        raise _busy("Too many requests wait; ask without wait.") from None
    return Response(answer.body, status=answer.status, headers=headers(answer))


@api.get("/v1/history")
@api.input(HistoryQuery, location="query", arg_name="query")
@api.output(HistoryOut)
@api.doc(responses=REFUSED | UNKNOWN)
def history(query: HistoryQuery) -> HistoryOut:
    """The mean rates of one element over each step since `since`.

    Where that were more than 3600 steps, they are longer than asked for; the answer says how long.
    From the Prometheus server of the settings, which is asked once and has a time-out; without one, or
    when it does not know, from the monitor's own memory of the last while.
    """
    monitor = _monitor()
    settings = monitor.settings.history
    until = now().wall if query.until is None else query.until
    since = until - 3600 if query.since is None else query.since
    step = max(query.step or settings.period_seconds, float(ceil((until - since) / MAX_STEPS)))
    record = monitor.table.record(query.element)
    if record is None:
        raise HTTPError(404, f"there is no element {query.element}; GET /v1/observations lists them")
    try:
        with _readers().place(request.remote_addr or ""):
            rates = element_history(record, monitor.ring, settings, since, until, step)
    except BusyError:
        raise _busy("Too many requests wait; ask again.") from None
    return HistoryOut.model_validate({"element": query.element, "step_seconds": step, **asdict(rates)})


@api.get("/v1/quotas")
@api.output(QuotasOut)
def quotas() -> QuotasOut:
    """How much users, groups and projects may store, and have stored.

    Looked at once a minute, where the settings name what shows it.
    """
    return QuotasOut.model_validate({"systems": _monitor().quotas.latest})


@api.get("/healthz")
@api.output(HealthOut)
def healthz() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "ok"}


_WAYS = {
    ONE_SIDED: "smed-mirror reads it from memory of its node, one-sidedly",
    PULL: "smed-mirror asks its node over TCP: there are no one-sided reads",
}


@api.get("/readyz")
@api.output(ReadinessOut)
@api.doc(responses=NOT_READY)
def readyz() -> tuple[Any, int]:
    """Whether targets are scraped and at least one answers; one check per target."""
    monitor = _monitor()
    checks = [Check(name="scheduler", ok=monitor.running, detail="" if monitor.running else "is not running")]
    answering = False
    for target in monitor.table.health():
        fine = target.scrapes > 0 and not target.error
        answering = answering or fine
        detail = target.error or (_WAYS.get(target.way, "") if target.scrapes else "not scraped yet")
        checks.append(Check(name=f"target {target.name}", ok=fine, detail=detail))
    ready = monitor.running and answering
    return ReadinessOut(ready=ready, checks=checks), 200 if ready else 503


@api.get("/metrics")
@api.doc(responses=EXPOSITION)
def metrics() -> Response:
    """The same figures for Prometheus, and how the scrapes go."""
    return Response(exposition(_monitor().table), content_type=CONTENT_TYPE_LATEST)
