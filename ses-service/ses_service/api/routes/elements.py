"""Elements and storage systems as they are now."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from ses_service.api import operations, render
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import failures
from ses_service.api.problems import MonitorProblem, NotFoundProblem
from ses_service.api.schemas.answers import ElementHistory, ElementList, StorageSystemList
from ses_service.api.schemas.requests import HistoryQuery
from ses_service.decision.space_outlook import outlook
from ses_service.feeds.monitor_reader import MonitorError
from ses_service.model.entities import Observation
from ses_service.process.runtime import runtime

blueprint = APIBlueprint("elements", __name__, tag="elements")


@blueprint.get("/v1/elements")
@allow()
@blueprint.output(ElementList)
@blueprint.doc(responses=failures(503))
def elements() -> Response:
    """List every element

    With its static facts, the monitor's last observation, and what a stream that starts now would get.
    """
    return _listed(None)


@blueprint.get("/v1/elements/<system>/<name>")
@allow()
@blueprint.output(ElementList)
@blueprint.doc(responses=failures(404, 503))
def one_element(system: str, name: str) -> Response:
    """Say the same of one element: a list of it alone"""
    return _listed(f"{system}/{name}")


def _listed(only: str | None) -> Response:
    now = runtime()
    table, time, rows = now.state.elements()
    systems, changes = table.environment.systems, now.space.changes(time)
    if only is not None:
        rows = [row for row in rows if table.elements[row.row].id == only]
        if not rows:
            raise NotFoundProblem(f"There is no element {only}.")
    listed = [
        {
            **render.element(found, systems.get(found.storage_system), time),
            "observation": None if row.observation is None else render.observation(row.observation, time),
            "available": render.rates(row.available_read, row.available_write),
            "open_placements": row.open_placements,
            "reserved_bytes": row.reserved_bytes,
            **_outlook(changes.get(found.id), row.observation),
        }
        for row in rows
        for found in (table.elements[row.row],)
    ]
    monitor, base = now.observer.status, now.keeper.status
    return render.answer(
        {
            "generated_at": time,
            "elements": listed,
            "monitor": {
                "url": monitor.url,
                "reachable": monitor.reachable,
                "age_seconds": monitor.age(time),
            },
            "knowledge_base": {
                "url": base.url,
                "reachable": base.reachable,
                "age_seconds": base.age(time),
                "revision": now.keeper.revision,
            },
        }
    )


def _outlook(change: float | None, seen: Observation | None) -> dict[str, float | None]:
    found = outlook(change, None if seen is None else seen.free_bytes)
    days = None if found is None else found.full_in
    return {
        "free_bytes_per_day": None if found is None else round(found.change),
        "full_in_days": None if days is None else round(days, 2),
    }


@blueprint.get("/v1/elements/<system>/<name>/history")
@allow()
@blueprint.input(HistoryQuery, location="query")
@blueprint.output(ElementHistory)
@blueprint.doc(responses=failures(404, 422, 503))
def history(system: str, name: str, query_data: HistoryQuery) -> Response:
    """Say how an element was read and written over time

    As the monitor remembers it, or the Prometheus server behind it: this service keeps none.
    """
    element, until = f"{system}/{name}", runtime().state.now()
    known = {one.id for one in runtime().state.environment.elements}
    since = until - query_data.seconds
    if element not in known:
        raise NotFoundProblem(f"There is no element {element}.")
    try:
        found = runtime().past.of(element, since, until, query_data.seconds / query_data.points)
    except MonitorError as error:
        raise MonitorProblem(f"The past of {element} is not known: {error}.") from None
    if found is None:
        raise NotFoundProblem(f"The monitor watches no element {element}.")
    return render.answer(
        {
            "element": element,
            "since": since,
            "until": until,
            "step_seconds": found.step,
            "source": found.source,
            "detail": found.detail,
            "points": [
                {"at": one.at, **render.rates(one.read, one.write), "queue_depth": one.queue_depth}
                for one in found.points
            ],
        }
    )


@blueprint.get(operations.STORAGE_SYSTEMS.route)
@allow(*operations.STORAGE_SYSTEMS.roles)
@blueprint.output(StorageSystemList)
@blueprint.doc(responses=failures(503))
def storage_systems() -> Response:
    """List every storage system"""
    return operations.storage_systems(runtime(), caller()).response()
