"""Elements and storage systems as they are now."""

from __future__ import annotations

from collections import Counter

from apiflask import APIBlueprint
from flask import Response

from ses_service.api import render
from ses_service.api.authentication import allow
from ses_service.api.contract import failures
from ses_service.api.schemas.answers import ElementList, StorageSystemList
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
    now = runtime()
    table, time, rows = now.state.elements()
    systems = table.environment.systems
    listed = [
        {
            **render.element(found, systems.get(found.storage_system), time),
            "observation": None if row.observation is None else render.observation(row.observation, time),
            "available": render.rates(row.available_read, row.available_write),
            "open_placements": row.open_placements,
            "reserved_bytes": row.reserved_bytes,
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


@blueprint.get("/v1/storage-systems")
@allow()
@blueprint.output(StorageSystemList)
@blueprint.doc(responses=failures(503))
def storage_systems() -> Response:
    """List every storage system"""
    environment = runtime().state.environment
    counts = Counter(element.storage_system for element in environment.elements)
    listed = [
        {
            "name": name,
            "backend": system.backend,
            "mount_point": system.mount_point,
            "elements": counts[name],
        }
        for name, system in sorted(environment.systems.items())
    ]
    return render.answer({"storage_systems": listed})
