"""Elements and storage systems as they are now."""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from ses_client.messages import elements as messages
from ses_client.messages.element_groups import ByName, ElementGroups, Exporter, Exporters, FullSoon
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
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.problems import MonitorProblem, NotFoundProblem
from ses_service.api.render import Reply
from ses_service.api.schemas.requests import Query, Text
from ses_service.decision.element_groups import By, Measure, Wanted, choices, coarse, full_soon, groups
from ses_service.decision.exporters import exporters
from ses_service.decision.space_outlook import full_in
from ses_service.feeds.monitor_answer import MonitorError
from ses_service.model.columns import Codes, ElementTable
from ses_service.model.entities import Observation
from ses_service.process.runtime import runtime
from ses_service.state.element_now import ElementNow

area = Area("elements")
_MAX_FULL_SOON = 50
_MAX_DETAILS = 2

Value = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")]


class ElementsWanted(Query):
    """Which elements; an empty `tier`, `server` or `pool` wants those without one."""

    system: Text | None = None
    tier: Value | None = None
    server: Value | None = None
    pool: Value | None = None
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0

    def rows(self, table: ElementTable) -> Codes:
        """Return the rows of these elements."""
        return Wanted(self.system, self.tier, self.server, self.pool).rows(table)


class ElementQuery(ElementsWanted):
    """Which elements to list, how many, and how many of them to leave out first."""

    limit: Annotated[int, Field(ge=1, le=100_000)] | None = None


class GroupsQuery(ElementsWanted):
    """Which elements to sum up, and by what: without `by`, by what makes the most groups in `limit`."""

    by: ByName | None = None
    measure: Literal["write", "read", "free"] = "write"
    limit: Annotated[int, Field(ge=1, le=10_000)] = 400
    full_within_days: Annotated[float, Field(gt=0, le=3650)] = 30.0


class ExportersQuery(Query):
    """How many exporters to list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 200


class HistoryQuery(Query):
    """How far back, in seconds; the answer has about `points` steps."""

    seconds: Annotated[int, Field(ge=60, le=31 * 86400)] = 3600
    points: Annotated[int, Field(ge=2, le=1000)] = 120


@area.answers("GET /v1/elements", Inventory, query=ElementQuery)
def elements(asked: ElementQuery) -> Inventory:
    """List elements

    With their static facts, the monitor's last observation, and what a stream that starts now would get.  All
    of them, where the question names no storage system, tier, server, pool or limit.
    """

    def chosen(table: ElementTable) -> Codes:
        rows = asked.rows(table)[asked.offset :]
        return rows if asked.limit is None else rows[: asked.limit]

    return _listed(chosen)


@area.answers("GET /v1/elements/<system>/<name>", Inventory, 404)
def one_element(system: str, name: str) -> Inventory:
    """Say the same of one element: a list of it alone"""

    def chosen(table: ElementTable) -> Codes:
        row = table.index.get(f"{system}/{name}")
        if row is None:
            raise NotFoundProblem(f"There is no element {system}/{name}.")
        return np.array([row], dtype=np.int64)

    return _listed(chosen)


@area.answers("GET /v1/element-groups", ElementGroups, query=GroupsQuery)
def element_groups(asked: GroupsQuery) -> ElementGroups:
    """Sum elements up by tier, server or pool

    So that a site of many elements can be shown without asking for each.
    """
    now = runtime()
    moment = now.state.moment()
    rows = asked.rows(moment.table)
    counts = choices(moment.table, rows)
    by, measure = None if asked.by is None else By(asked.by), Measure(asked.measure)
    if by not in counts:
        by = coarse(counts, asked.limit)
    summed = [] if by is None else groups(moment, rows, by, measure)
    soon = full_soon(moment, rows, now.space.changes(moment.at), asked.full_within_days)
    return ElementGroups(
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


@area.answers("GET /v1/exporters", Exporters, query=ExportersQuery)
def exporter_list(asked: ExportersQuery) -> Exporters:
    """List where the figures of the elements come from

    How many each exporter shows, and how old they are; those with trouble first.
    """
    moment = runtime().state.moment()
    sources = exporters(zip(moment.observations.by_row, moment.seen.tolist(), strict=True), moment.at)
    listed = [
        Exporter.like(
            exporter,
            oldest_seconds=None if exporter.oldest is None else round(exporter.oldest, 3),
            details=sorted(exporter.details)[:_MAX_DETAILS],
        )
        for exporter in sources[: asked.limit]
    ]
    return Exporters(total=len(sources), exporters=listed, **_sources(moment.at))


@area.answers("GET /v1/elements/<system>/<name>/history", History, 404, query=HistoryQuery)
def history(system: str, name: str, asked: HistoryQuery) -> History:
    """Say how an element was read and written over time

    As the monitor remembers it, or the Prometheus server behind it: this service keeps none.
    """
    element, until = f"{system}/{name}", runtime().state.now()
    known = {element.id for element in runtime().state.environment.elements}
    since = until - asked.seconds
    if element not in known:
        raise NotFoundProblem(f"There is no element {element}.")
    try:
        past = runtime().past.of(element, since, until, asked.seconds / asked.points)
    except MonitorError as error:
        raise MonitorProblem(f"The past of {element} is not known: {error}.") from None
    if past is None:
        raise NotFoundProblem(f"The monitor watches no element {element}.")
    points = [
        HistoryPoint(
            at=point.at,
            **render.rates(point.read_bytes_per_second, point.write_bytes_per_second),
            queue_depth=point.queue_depth,
        )
        for point in past.points
    ]
    return History.like(past, element=element, since=since, until=until, points=points)


@area.answers(
    f"GET {operations.STORAGE_SYSTEMS.route}", StorageSystems, roles=operations.STORAGE_SYSTEMS.roles
)
def storage_systems() -> Reply:
    """List every storage system"""
    return operations.storage_systems(runtime(), caller())


def _listed(chosen: Callable[[ElementTable], Codes]) -> Inventory:
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
    return Inventory(generated_at=time, elements=listed, **_sources(time))


def _observation(row: ElementNow, time: float) -> messages.Observation | None:
    seen = row.observation
    return None if seen is None else render_elements.observation(seen, time, seen=row.seen)


def _sources(time: float) -> JSON:
    """Return how what the service reads is."""
    now = runtime()
    monitor, base = now.observer.status, now.site_manager.status
    return {
        "monitor": MonitorSource.like(monitor, age_seconds=monitor.age(time)),
        "knowledge_base": KnowledgeBaseSource.like(
            base, age_seconds=base.age(time), revision=now.site_manager.revision
        ),
    }


def _outlook(change: float | None, seen: Observation | None) -> JSON:
    days = full_in(change, None if seen is None else seen.free_bytes)
    return {
        "free_bytes_per_day": None if change is None else round(change),
        "full_in_days": None if days is None else round(days, 2),
    }
