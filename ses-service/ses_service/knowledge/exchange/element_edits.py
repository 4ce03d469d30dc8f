"""What an administrator changes about one element: its state, its facts, that it is there at all.

Pure functions from a description of the site to the description after the change; whether that may be so, the
shapes say. An element is named by its storage system and its own name, as everywhere outside the store.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, count
from typing import TypeAlias
from urllib.parse import quote

from rdflib import RDF, RDFS, XSD, Literal, URIRef
from ses_client.turtle import BASE

from ses_service.knowledge.errors import ElementExistsError, NoSuchElementError, NotDrainedError
from ses_service.knowledge.statements.statements import Description, Facts, Nested, Value, canonical, types
from ses_service.knowledge.terms import QSM, QUDT, STATES
from ses_service.knowledge.times import written
from ses_service.model.entities import ElementState

SiteEdit: TypeAlias = Callable[[Description], Description]
"""A change of the site's description."""

_UNIT = "http://qudt.org/vocab/unit/"
_OF_STATE = {state: URIRef(name) for name, state in STATES.items()}
_CLASSES: Mapping[Value, URIRef] = {
    QSM.MergerfsUnion: QSM.Branch,
    QSM.LustreFileSystem: QSM.ObjectStorageTarget,
    QSM.CephFileSystem: QSM.DataPool,
    QSM.DirectorySet: QSM.Directory,
}
_TEXTS: Mapping[str, URIRef] = {
    "label": RDFS.label,
    "target": QSM.target,
    "tier": QSM.tier,
    "pool": QSM.pool,
    "state_reason": QSM.stateReason,
}
_QUANTITIES: Mapping[str, tuple[URIRef, str, float]] = {
    "capacity_bytes": (QSM.capacity, "GigaBYTE", 1e9),
    "read_rate": (QSM.nominalReadRate, "MegaBYTE-PER-SEC", 1e6),
    "write_rate": (QSM.nominalWriteRate, "MegaBYTE-PER-SEC", 1e6),
}


@dataclass(frozen=True, slots=True)
class ElementName:
    """An element by the names of its storage system and its own."""

    system: str
    name: str

    def __str__(self) -> str:
        return f"{self.system}/{self.name}"


def drained(where: ElementName, reason: str | None, until: float | None) -> SiteEdit:
    """Return the edit after which no file goes to an element, or only until a time.

    ``until`` is seconds since the epoch. Raises ``NoSuchElementError`` when it is made.
    """
    stated = {"state": ElementState.DRAINING, "state_reason": reason, "state_until": until}
    return changed(where, stated)


def undrained(where: ElementName) -> SiteEdit:
    """Return the edit after which an element that was drained takes files again.

    Raises ``NoSuchElementError``, and ``NotDrainedError`` for one in another state, when it is made.
    """

    def edit(site: Description) -> Description:
        facts = site[_element(site, where)]
        if facts.get(QSM.state) != frozenset({QSM.Draining}):
            raise NotDrainedError(f"{where} is not being drained")
        return changed(where, {"state": ElementState.ACTIVE})(site)

    return edit


def changed(where: ElementName, stated: Mapping[str, object]) -> SiteEdit:
    """Return the edit that states facts of an element; one that is ``None`` is stated no more.

    Facts: ``state`` (with ``state_reason`` and ``state_until``, which go with every other state), ``server``,
    ``label``, ``target``, ``tier``, ``pool``, ``capacity_bytes``, ``read_rate`` and ``write_rate`` (bytes and
    bytes per second). Raises ``NoSuchElementError`` when it is made.
    """

    def edit(site: Description) -> Description:
        subject = _element(site, where)
        return _stated(site, subject, site[subject], where, stated)

    return edit


def added(where: ElementName, stated: Mapping[str, object]) -> SiteEdit:
    """Return the edit that adds an element to a storage system, with its facts as :func:`changed` has them.

    Raises ``ElementExistsError``, and ``NoSuchElementError`` without the storage system, when it is made.
    """

    def edit(site: Description) -> Description:
        system = _system(site, where)
        if where.name in _names(site, where):
            raise ElementExistsError(f"The site has an element {where} already; change it instead")
        kinds = (_CLASSES.get(type_) for type_ in types(site[system]))
        facts: Facts = {
            RDF.type: frozenset({next((kind for kind in kinds if kind), QSM.StorageElement)}),
            QSM.name: frozenset({Literal(where.name)}),
            QSM.elementOf: frozenset({system}),
        }
        subject = _unused(site, BASE + "/".join(quote(part, safe="") for part in (where.system, where.name)))
        return _stated(site, subject, facts, where, stated)

    return edit


def _unused(site: Description, wanted: str) -> URIRef:
    """Return an address nothing has: systems and servers have some like those of elements."""
    names = chain((wanted,), (f"{wanted}-{number}" for number in count(2)))
    return next(name for name in map(URIRef, names) if name not in site)


def removed(where: ElementName) -> SiteEdit:
    """Return the edit after which the site has an element no more, nor a server only this one needed.

    Raises ``NoSuchElementError`` when it is made.
    """

    def edit(site: Description) -> Description:
        subject = _element(site, where)
        after = {other: _without(facts, subject) for other, facts in site.items() if other != subject}
        used = {value for facts in after.values() for value in facts.get(QSM.servedBy, ())}
        for server in site[subject].get(QSM.servedBy, frozenset()) - used:
            if isinstance(server, URIRef):
                after.pop(server, None)
        return after

    return edit


def _without(facts: Facts, gone: URIRef) -> Facts:
    if not any(gone in values for values in facts.values()):
        return facts
    return {property_: values - {gone} for property_, values in facts.items() if values - {gone}}


def _stated(
    site: Description, subject: URIRef, facts: Facts, where: ElementName, stated: Mapping[str, object]
) -> Description:
    after, servers = dict(facts), dict[URIRef, Facts]()
    if "state" in stated:
        stated = {"state_reason": None, "state_until": None, **stated}
    for name, value in stated.items():
        property_, fact = _fact(name, value)
        if name == "server":
            fact, servers = _server(site, where, str(value))
        if fact is None:
            after.pop(property_, None)
        else:
            after[property_] = frozenset({fact})
    if facts.get(QSM.target) != after.get(QSM.target):  # what ses discover wrote is of the one before
        for property_ in (QSM.fileSystem, QSM.device):
            after.pop(property_, None)
    return {**site, **servers, subject: after}


def _fact(name: str, value: object) -> tuple[URIRef, Value | None]:
    """Return the property of a fact with its value, ``None`` where it is stated no more."""
    if name == "state":
        return QSM.state, None if value is None else _OF_STATE[ElementState(str(value))]
    if name == "state_until":
        text = None if value is None else written(float(str(value)))
        return QSM.stateUntil, None if text is None else canonical(Literal(text, datatype=XSD.dateTime))
    if name in _QUANTITIES:
        property_, unit, size = _QUANTITIES[name]
        return property_, None if value is None else _quantity(float(str(value)) / size, unit)
    if name == "server":
        return QSM.servedBy, None
    return _TEXTS[name], None if value is None else Literal(str(value))


def _quantity(value: float, unit: str) -> Nested:
    return Nested(
        (
            (QUDT.hasUnit, URIRef(_UNIT + unit)),
            (QUDT.numericValue, canonical(Literal(value, datatype=XSD.double))),
            (RDF.type, QUDT.QuantityValue),
        )
    )


def _server(site: Description, where: ElementName, name: str) -> tuple[URIRef, dict[URIRef, Facts]]:
    """Return the server of a name, with its description where the site has none."""
    for subject, facts in sorted(site.items()):
        if QSM.Server in types(facts) and Literal(name) in facts.get(QSM.name, ()):
            return subject, {}
    server = URIRef(f"{BASE}{quote(where.system, safe='')}/server/{quote(name, safe='')}")
    return server, {server: {RDF.type: frozenset({QSM.Server}), QSM.name: frozenset({Literal(name)})}}


def _system(site: Description, where: ElementName) -> URIRef:
    systems = {system for facts in site.values() for system in facts.get(QSM.elementOf, ())}
    for subject in sorted(system for system in systems if isinstance(system, URIRef)):
        if Literal(where.system) in site.get(subject, {}).get(QSM.name, ()):
            return subject
    raise NoSuchElementError(f"The site has no storage system {where.system}")


def _element(site: Description, where: ElementName) -> URIRef:
    names = _names(site, where)
    if where.name not in names:
        near = get_close_matches(where.name, sorted(names), 2)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise NoSuchElementError(f"The storage system {where.system} has no element {where.name}{hint}")
    return names[where.name]


def _names(site: Description, where: ElementName) -> dict[str, URIRef]:
    """Return the elements of the storage system by their names, the first of several of one name."""
    system = _system(site, where)
    return {
        str(name): subject
        for subject, facts in sorted(site.items(), reverse=True)
        if system in facts.get(QSM.elementOf, ())
        for name in facts.get(QSM.name, ())
    }
