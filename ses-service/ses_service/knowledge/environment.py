"""From rows of the store to the environment the service decides on."""

from collections.abc import Sequence

from ses_service.knowledge.errors import StoreRefusedError
from ses_service.knowledge.nodes import read_node_calibrations, read_node_classes
from ses_service.knowledge.queries import bind
from ses_service.knowledge.store.store import Row, SparqlReader
from ses_service.knowledge.terms import SITE_GRAPH, STATES
from ses_service.knowledge.times import moment
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Element, ElementState, Environment, StorageSystem
from ses_service.model.nodes import ByHost

_PATIENCE = 3.0
"""10,000 elements took 3.8 s on a busy machine: too near the usual limit of 5."""


def read_environment(store: SparqlReader, revision: str) -> Environment:
    """Read the whole site: nine queries, and one per kind that is stated.

    Takes seconds at 10,000 elements, so never within a request.
    """
    systems = store.select(bind("storage-systems.rq", graph=SITE_GRAPH))
    elements = store.select(bind("storage-elements.rq", graph=SITE_GRAPH), patience=_PATIENCE)
    homes = store.select(bind("home-organizations.rq", graph=SITE_GRAPH))
    # An element with several labels has several rows; the first in order counts.
    first: dict[str, Row] = {}
    for row in elements:
        first.setdefault(row["iri"], row)
    groups = store.select(bind("member-groups.rq", graph=SITE_GRAPH))
    stated = _stated(store)
    links = _server_links(store)
    access: dict[str, set[str]] = {}
    for row in store.select(bind("node-access.rq", graph=SITE_GRAPH)):
        access.setdefault(row["node"], set()).add(row["system"])
    classes = read_node_classes(store)
    of_classes = {
        node: node_class.systems
        for node_class in classes
        for node in node_class.nodes
        if node_class.systems is not None
    }
    return Environment(
        systems={row["name"]: _system(row) for row in systems if row["type"] in vocabulary().backends},
        elements=tuple(
            _element(row, stated.get(row["iri"], ()), links.get(row["server"])) for row in first.values()
        ),
        home_vo={row["user"]: row["vo"] for row in homes},
        organisations=frozenset(row["vo"] for row in groups),
        member_groups=tuple((row["group"], row["vo"]) for row in groups if "group" in row),
        node_access=ByHost((of_classes | {node: frozenset(names) for node, names in access.items()}).items()),
        node_classes=classes,
        calibrations=ByHost(read_node_calibrations(store).items()),
        revision=revision,
    )


def size_in(unit: str) -> float:
    """Return the size of a unit in the base unit of its quantities: bytes, bytes per second, seconds."""
    try:
        return vocabulary().unit_sizes[unit]
    except KeyError:
        raise StoreRefusedError(f"the store holds a quantity in the unknown unit {unit}") from None


def _system(row: Row) -> StorageSystem:
    return StorageSystem(
        name=row["name"],
        iri=row["iri"],
        label=row.get("label", row["name"]),
        backend=vocabulary().backends[row["type"]],
        mount_point=row.get("mount", ""),
    )


def _element(row: Row, stated: Sequence[tuple[str, float]], server_rate: float | None) -> Element:
    return Element(
        id=f"{row['system']}/{row['name']}",
        iri=row["iri"],
        label=row.get("label", row["name"]),
        storage_system=row["system"],
        target=row["target"],
        server=row["server"],
        state=STATES.get(row.get("state", ""), ElementState.ACTIVE),
        state_reason=row.get("why"),
        state_until=moment(row.get("until")),
        tier=row.get("tier"),
        pool=row.get("pool"),
        file_system=row.get("fileSystem"),
        device=row.get("device"),
        capacity_bytes=_quantity(row, "capacity"),
        nominal_read_rate=_quantity(row, "read"),
        nominal_write_rate=_quantity(row, "write"),
        stated=tuple(stated),
        server_rate=server_rate,
    )


def _server_links(store: SparqlReader) -> dict[str, float]:
    """Return what links of servers carry, by name; of several rates of one server the lowest counts."""
    links: dict[str, float] = {}
    for row in store.select(bind("server-links.rq", graph=SITE_GRAPH)):
        rate = float(row["rate"]) * size_in(row["rateUnit"])
        links[row["server"]] = min(rate, links.get(row["server"], rate))
    return links


def _stated(store: SparqlReader) -> dict[str, list[tuple[str, float]]]:
    """Return the values of the kinds that are not predicted, by element; asks nothing when there are none."""
    by_element: dict[str, list[tuple[str, float]]] = {}
    for metric in vocabulary().metrics.values():
        if metric.constrains is not None:
            query = bind("stated-values.rq", graph=SITE_GRAPH, property=metric.constrains)
            for row in store.select(query, patience=_PATIENCE):
                value = float(row["value"]) * size_in(row["unit"])
                by_element.setdefault(row["iri"], []).append((metric.kind.value, value))
    return by_element


def _quantity(row: Row, column: str) -> float | None:
    if column not in row:
        return None
    return float(row[column]) * size_in(row[f"{column}Unit"])
