"""Elements and storage systems as they are now."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from apiflask import APIBlueprint
from flask import Response
from ses_client.messages import elements as messages
from ses_client.messages.element_groups import ElementGroups, Exporter, Exporters, FullSoon
from ses_client.messages.elements import (
    Element,
    History,
    HistoryPoint,
    Inventory,
    KnowledgeBaseSource,
    MonitorSource,
    StorageSystems,
)
from ses_client.messages.message import JSON

from ses_service.api import operations, render, render_elements, render_nodes
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import answers
from ses_service.api.problems import MonitorProblem, NotFoundProblem
from ses_service.api.schemas.element_groups import ElementQuery, ElementsWanted, ExportersQuery, GroupsQuery
from ses_service.api.schemas.requests import HistoryQuery
from ses_service.decision.element_groups import By, Measure, Wanted, choices, coarse, full_soon, groups
from ses_service.decision.exporters import exporters
from ses_service.decision.space_outlook import outlook
from ses_service.feeds.monitor_answer import MonitorError
from ses_service.model.columns import Codes, ElementTable
from ses_service.model.entities import Observation
from ses_service.process.runtime import runtime
from ses_service.state.element_now import ElementNow

blueprint = APIBlueprint("elements", __name__, tag="elements")
_MAX_FULL_SOON = 50
_MAX_DETAILS = 2


@blueprint.get("/v1/elements")
@allow()
@blueprint.input(ElementQuery, location="query")
@blueprint.doc(responses=answers(Inventory, 422, 503))
def elements(query_data: ElementQuery) -> Response:
    """List elements

    With their static facts, the monitor's last observation, and what a stream that starts now would get.  All
    of them, where the question names no storage system, tier, server, pool or limit.
    """
    asked = query_data

    def chosen(table: ElementTable) -> Codes:
        rows = _wanted(asked).rows(table)[asked.offset :]
        return rows if asked.limit is None else rows[: asked.limit]

    return _listed(chosen)


@blueprint.get("/v1/elements/<system>/<name>")
@allow()
@blueprint.doc(responses=answers(Inventory, 404, 503))
def one_element(system: str, name: str) -> Response:
    """Say the same of one element: a list of it alone"""

    def chosen(table: ElementTable) -> Codes:
        row = table.index.get(f"{system}/{name}")
        if row is None:
            raise NotFoundProblem(f"There is no element {system}/{name}.")
        return np.array([row], dtype=np.int64)

    return _listed(chosen)


@blueprint.get("/v1/element-groups")
@allow()
@blueprint.input(GroupsQuery, location="query")
@blueprint.doc(responses=answers(ElementGroups, 422, 503))
def element_groups(query_data: GroupsQuery) -> Response:
    """Sum elements up by tier, server or pool

    So that a site of many elements can be shown without asking for each.
    """
    now, asked = runtime(), query_data
    moment = now.state.moment()
    rows = _wanted(asked).rows(moment.table)
    counts = choices(moment.table, rows)
    by, measure = None if asked.by is None else By(asked.by), Measure(asked.measure)
    if by not in counts:
        by = coarse(counts, asked.limit)
    summed = [] if by is None else groups(moment, rows, by, measure)
    soon = full_soon(moment, rows, now.space.changes(moment.at), asked.full_within_days)
    return render.answer(
        ElementGroups(
            generated_at=moment.at,
            systems=sorted(moment.table.system_names),
            elements=len(rows),
            choices={str(each): count for each, count in counts.items()},
            by=by,
            unit="GB" if measure is Measure.FREE else "MB/s",
            groups_total=len(summed),
            groups=[
                render_elements.element_group(group, moment.table.environment.systems, measure)
                for group in summed[asked.offset : asked.offset + asked.limit]
            ],
            full_soon_total=len(soon),
            full_soon=[
                FullSoon(element=name, full_in_days=round(days, 2)) for name, days in soon[:_MAX_FULL_SOON]
            ],
            **_sources(moment.at),
        )
    )


@blueprint.get("/v1/exporters")
@allow()
@blueprint.input(ExportersQuery, location="query")
@blueprint.doc(responses=answers(Exporters, 422, 503))
def exporter_list(query_data: ExportersQuery) -> Response:
    """List where the figures of the elements come from

    How many each exporter shows, and how old they are; those with trouble first.
    """
    moment = runtime().state.moment()
    sources = exporters(zip(moment.observations.by_row, moment.seen.tolist(), strict=True), moment.at)
    listed = [
        Exporter(
            target=exporter.target,
            elements=exporter.elements,
            ok=exporter.ok,
            stale=exporter.stale,
            missing=exporter.missing,
            oldest_seconds=None if exporter.oldest is None else round(exporter.oldest, 3),
            details=sorted(exporter.details)[:_MAX_DETAILS],
        )
        for exporter in sources[: query_data.limit]
    ]
    return render.answer(Exporters(total=len(sources), exporters=listed, **_sources(moment.at)))


def _wanted(asked: ElementsWanted) -> Wanted:
    return Wanted(asked.system, asked.tier, asked.server, asked.pool)


def _listed(chosen: Callable[[ElementTable], Codes]) -> Response:
    now = runtime()
    table, time, rows = now.state.elements(chosen)
    systems, changes = table.environment.systems, now.space.changes(time)
    listed = [
        Element(
            **render_elements.element(described, systems.get(described.storage_system), time),
            observation=_observation(row, time),
            available=render.rates(row.available_read, row.available_write),
            open_placements=row.open_placements,
            reserved_bytes=row.reserved_bytes,
            excluded=render_nodes.excluded(row.excluded, caller()),
            **_outlook(changes.get(described.id), row.observation),
        )
        for row in rows
        for described in (table.elements[row.row],)
    ]
    return render.answer(Inventory(generated_at=time, elements=listed, **_sources(time)))


def _observation(row: ElementNow, time: float) -> messages.Observation | None:
    seen = row.observation
    return None if seen is None else render_elements.observation(seen, time, seen=row.seen)


def _sources(time: float) -> JSON:
    """Return how what the service reads is."""
    now = runtime()
    monitor, base = now.observer.status, now.site_manager.status
    return {
        "monitor": MonitorSource(url=monitor.url, reachable=monitor.reachable, age_seconds=monitor.age(time)),
        "knowledge_base": KnowledgeBaseSource(
            url=base.url,
            reachable=base.reachable,
            age_seconds=base.age(time),
            revision=now.site_manager.revision,
        ),
    }


def _outlook(change: float | None, seen: Observation | None) -> JSON:
    expected = outlook(change, None if seen is None else seen.free_bytes)
    days = None if expected is None else expected.full_in
    return {
        "free_bytes_per_day": None if expected is None else round(expected.change),
        "full_in_days": None if days is None else round(days, 2),
    }


@blueprint.get("/v1/elements/<system>/<name>/history")
@allow()
@blueprint.input(HistoryQuery, location="query")
@blueprint.doc(responses=answers(History, 404, 422, 503))
def history(system: str, name: str, query_data: HistoryQuery) -> Response:
    """Say how an element was read and written over time

    As the monitor remembers it, or the Prometheus server behind it: this service keeps none.
    """
    element, until = f"{system}/{name}", runtime().state.now()
    known = {element.id for element in runtime().state.environment.elements}
    since = until - query_data.seconds
    if element not in known:
        raise NotFoundProblem(f"There is no element {element}.")
    try:
        past = runtime().past.of(element, since, until, query_data.seconds / query_data.points)
    except MonitorError as error:
        raise MonitorProblem(f"The past of {element} is not known: {error}.") from None
    if past is None:
        raise NotFoundProblem(f"The monitor watches no element {element}.")
    return render.answer(
        History(
            element=element,
            since=since,
            until=until,
            step_seconds=past.step_seconds,
            source=past.source,
            detail=past.detail,
            points=[
                HistoryPoint(
                    at=point.at,
                    **render.rates(point.read_bytes_per_second, point.write_bytes_per_second),
                    queue_depth=point.queue_depth,
                )
                for point in past.points
            ],
        )
    )


@blueprint.get(operations.STORAGE_SYSTEMS.route)
@allow(*operations.STORAGE_SYSTEMS.roles)
@blueprint.doc(responses=answers(StorageSystems, 503))
def storage_systems() -> Response:
    """List every storage system"""
    return operations.storage_systems(runtime(), caller()).response()
