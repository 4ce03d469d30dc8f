"""From rows of the store to the environment the service decides on."""

from __future__ import annotations

from ses_service.knowledge.errors import StoreRefusedError
from ses_service.knowledge.queries import bind
from ses_service.knowledge.store import Row, SparqlStore
from ses_service.knowledge.terms import BACKENDS, SITE_GRAPH, STATES, UNIT_SIZES
from ses_service.model import Element, ElementState, Environment, StorageSystem

_PATIENCE = 3.0
"""10,000 elements took 3.8 s on a busy machine: too near the usual limit of 5."""


def read_environment(store: SparqlStore, revision: str) -> Environment:
    """Read the whole site. Four queries; seconds at 10,000 elements, so never within a request."""
    systems = store.select(bind("storage-systems.rq", graph=SITE_GRAPH))
    elements = store.select(bind("storage-elements.rq", graph=SITE_GRAPH), patience=_PATIENCE)
    homes = store.select(bind("home-organizations.rq", graph=SITE_GRAPH))
    # An element with several labels has several rows; the first in order counts.
    first: dict[str, Row] = {}
    for row in elements:
        first.setdefault(row["iri"], row)
    access: dict[str, set[str]] = {}
    for row in store.select(bind("node-access.rq", graph=SITE_GRAPH)):
        access.setdefault(row["node"], set()).add(row["system"])
    return Environment(
        systems={row["name"]: _system(row) for row in systems},
        elements=tuple(_element(row) for row in first.values()),
        home_vo={row["user"]: row["vo"] for row in homes},
        node_access={node: frozenset(names) for node, names in access.items()},
        revision=revision,
    )


def size_in(unit: str) -> float:
    """Return the size of a QUDT unit in bytes or bytes per second."""
    try:
        return UNIT_SIZES[unit]
    except KeyError:
        raise StoreRefusedError(f"the store holds a quantity in the unknown unit {unit}") from None


def _system(row: Row) -> StorageSystem:
    return StorageSystem(
        name=row["name"],
        iri=row["iri"],
        label=row.get("label", row["name"]),
        backend=BACKENDS[row["type"]],
        mount_point=row["mount"],
    )


def _element(row: Row) -> Element:
    return Element(
        id=f"{row['system']}/{row['name']}",
        iri=row["iri"],
        label=row.get("label", row["name"]),
        storage_system=row["system"],
        target=row["target"],
        server=row["server"],
        state=STATES.get(row.get("state", ""), ElementState.ACTIVE),
        tier=row.get("tier"),
        pool=row.get("pool"),
        capacity_bytes=_quantity(row, "capacity"),
        nominal_read_rate=_quantity(row, "read"),
        nominal_write_rate=_quantity(row, "write"),
    )


def _quantity(row: Row, column: str) -> float | None:
    if column not in row:
        return None
    return float(row[column]) * size_in(row[f"{column}Unit"])
