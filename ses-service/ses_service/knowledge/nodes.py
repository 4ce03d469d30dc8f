"""From rows of the store to the classes of compute nodes, and to what nodes were measured to give."""

from contextlib import suppress

import structlog

from ses_service.knowledge.hostlist import expanded
from ses_service.knowledge.queries import bind
from ses_service.knowledge.store.store import Row, SparqlReader
from ses_service.knowledge.terms import SITE_GRAPH
from ses_service.knowledge.times import moment
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.nodes import NetworkLink, NodeCalibration, NodeClass

_log = structlog.get_logger(__name__)


def read_node_classes(store: SparqlReader) -> tuple[NodeClass, ...]:
    """Return the classes of nodes by name: two queries.

    A class whose names or rates cannot be read is left out: what is imported is checked, what a store holds
    may be written by others.
    """
    systems: dict[str, set[str]] = {}
    first: dict[str, Row] = {}
    for row in store.select(bind("node-classes.rq", graph=SITE_GRAPH)):
        first.setdefault(row["name"], row)
        if "system" in row:
            systems.setdefault(row["name"], set()).add(row["system"])
    held: dict[str, set[str]] = {}
    for row in store.select(bind("held-elements.rq", graph=SITE_GRAPH)):
        held.setdefault(row["class"], set()).add(f"{row['system']}/{row['element']}")
    classes = []
    for name, row in first.items():
        try:
            nodes, rate = expanded(row["nodes"]), _rate_of(row, "rate")
            link = NetworkLink(row["uplink"], _rate_of(row, "uplinkRate")) if "uplink" in row else None
        except ValueError as error:
            _log.warning("node class left out", name=name, detail=str(error))
            continue
        mounted = frozenset(systems[name]) if name in systems else None
        holds = frozenset(held.get(name, ()))
        classes.append(NodeClass(name, row["nodes"], nodes, mounted, rate, link, holds))
    return tuple(classes)


def read_node_calibrations(store: SparqlReader) -> dict[str, NodeCalibration]:
    """Return the latest calibration of each node, by the name it was measured under: one query.

    One whose date or numbers cannot be read is left out, as with classes.
    """
    by_node: dict[str, NodeCalibration] = {}
    for row in store.select(bind("node-calibrations.rq", graph=SITE_GRAPH)):
        try:
            calibration = _calibration(row)
        except ValueError as error:
            _log.warning("node calibration left out", name=row["name"], detail=str(error))
            continue
        if calibration.node not in by_node or by_node[calibration.node].at <= calibration.at:
            by_node[calibration.node] = calibration
    return by_node


def _calibration(row: Row) -> NodeCalibration:
    at, cores = moment(row["at"]), None
    assert at is not None  # the query gives no row without it
    with suppress(KeyError):
        cores = int(row["cores"])
    rates = (_rate_of(row, column) for column in ("copy", "memory", "link"))
    return NodeCalibration(row["name"], at, row.get("method", ""), cores, *rates)


def _rate_of(row: Row, column: str) -> float | None:
    """Return a rate in bytes per second, ``None`` where none is stated in a known unit; raises ValueError."""
    size = vocabulary().unit_sizes.get(row.get(f"{column}Unit", ""))
    return None if column not in row or size is None else float(row[column]) * size
