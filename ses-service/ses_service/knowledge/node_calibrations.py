"""From rows of the store to what nodes were measured to give."""

from contextlib import suppress

import structlog

from ses_service.knowledge.node_classes import rate_of
from ses_service.knowledge.queries import bind
from ses_service.knowledge.store.store import Row, SparqlReader
from ses_service.knowledge.terms import SITE_GRAPH
from ses_service.knowledge.times import moment
from ses_service.model.nodes import NodeCalibration

_log = structlog.get_logger(__name__)


def read_node_calibrations(store: SparqlReader) -> dict[str, NodeCalibration]:
    """Return the latest calibration of each node, by the name it was measured under: one query.

    One whose date or numbers cannot be read is left out, as with classes of nodes.
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
    rates = (rate_of(row, column) for column in ("copy", "memory", "link"))
    return NodeCalibration(row["name"], at, row.get("method", ""), cores, *rates)
