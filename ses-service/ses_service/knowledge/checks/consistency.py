"""Faults that lie between nodes of a description, which shapes cannot say, or only slowly.

A unit that does not fit its kind, two elements of one name, a kind stated twice, a term nobody knows. What
can be checked of a node by itself is in ``ontology/shapes.ttl``.
"""

import difflib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rdflib import RDF, BNode, Graph, URIRef
from rdflib.term import Node
from ses_client.names import is_application

from ses_service.knowledge.hostlist import MAX_NODES, HostlistError, expanded
from ses_service.knowledge.terms import ODRL, QSM, QUDT
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.limits import MAX_APPLICATION, MAX_BOUND, MAX_NAME

_MAX_HINTS = 20  # unknown terms: a near one takes a millisecond to find
_MAX_SHARING = 5  # named
_WHERE = (QSM.servedBy, QSM.fileSystem)  # beside a target
_DEEPEST = 4  # of nodes without a name in others


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a node, at one of its properties and the value there if the fault is theirs."""

    node: Node
    message: str
    property: Node | None = None
    value: Node | None = None


def faults(description: Graph) -> Iterator[Fault]:
    """Yield the faults of a description, in no order."""
    yield from _unknown_terms(description)
    yield from _shared_names(description)
    yield from _shared_targets(description)
    yield from _sets_of_one(description)
    yield from _long_names(description)
    yield from _misfit_requirements(description)
    yield from _repeated_kinds(description)
    yield from _misfit_metrics(description)
    yield from _stated_values(description)
    yield from _node_classes(description)


def _unknown_terms(description: Graph) -> Iterator[Fault]:
    known = {short(term) for term in vocabulary().graph.subjects() if str(term).startswith(QSM)}
    described = {short(term) for term in description.subjects(RDF.type) if str(term).startswith(QSM)}
    # A large site has a hundred thousand triples and a dozen terms: each term is looked at once.
    terms = {*description.predicates(unique=True), *description.objects(None, RDF.type, unique=True)}
    unknown = {term for term in terms if str(term).startswith(QSM) and short(term) not in known | described}
    if not unknown:
        return
    hints = {term: _hint(short(term), sorted(known)) for term in sorted(unknown, key=str)[:_MAX_HINTS]}
    for subject, predicate, value in description:
        used: tuple[Node, ...] = (predicate, value) if predicate == RDF.type else (predicate,)
        for term in used:
            if term in unknown:
                message = f"qsm:{short(term)} is not in the vocabulary{hints.get(term, '')}"
                yield Fault(subject, message, predicate, value)


def _hint(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean qsm:{near[0]}?" if near else ""


def _shared_names(description: Graph) -> Iterator[Fault]:
    seen: dict[tuple[Node | None, str], list[Node]] = {}
    for class_ in vocabulary().backends:
        for system in description.subjects(RDF.type, URIRef(class_)):
            for name in description.objects(system, QSM.name):
                seen.setdefault((None, str(name)), []).append(system)
    for element, owner in description.subject_objects(QSM.elementOf):
        for name in description.objects(element, QSM.name):
            seen.setdefault((owner, str(name)), []).append(element)
    for (within, shared), sharing in seen.items():
        where = "; each storage system needs its own" if within is None else " in one storage system"
        yield from _shared(sharing, f"share the name {shared!r}{where}", QSM.name)


def _shared_targets(description: Graph) -> Iterator[Fault]:
    """Yield elements that are one: directories of one path may lie on several servers, or file systems."""
    seen: dict[tuple[str, object, object], list[Node]] = {}
    for element, owner in description.subject_objects(QSM.elementOf):
        where = tuple(frozenset(description.objects(element, property_)) for property_ in _WHERE)
        for target in description.objects(element, QSM.target):
            seen.setdefault((str(target), owner, where), []).append(element)
    for (shared, _, _), sharing in seen.items():
        message = f"share the target {shared!r} in one storage system: state it of one element"
        yield from _shared(sharing, message, QSM.target)


def _shared(sharing: Iterable[Node], message: str, property_: Node) -> Iterator[Fault]:
    nodes = set(sharing)
    names = sorted(map(short, nodes))
    more = ["others"] if len(names) > _MAX_SHARING else []
    all_of_them = " and ".join([*names[:_MAX_SHARING], *more])
    for node in nodes if len(nodes) > 1 else ():
        yield Fault(node, f"{all_of_them} {message}", property_)


def _sets_of_one(description: Graph) -> Iterator[Fault]:
    """Yield sets of requirements that are one by level and subject: read as one, it states kinds twice."""
    seen: dict[tuple[Node | None, Node], list[Node]] = {}
    for owner, subject in description.subject_objects(QSM.subject):
        seen.setdefault((description.value(owner, QSM.level), subject), []).append(owner)
    for (level, subject), owners in seen.items():
        for owner in owners if len(owners) > 1 else ():
            message = f"{len(owners)} sets are of {level} {subject}: state its requirements in one"
            yield Fault(owner, message, QSM.subject, subject)


def _long_names(description: Graph) -> Iterator[Fault]:
    for owner, name in description.subject_objects(QSM.subject):
        if fault := _too_long(str(description.value(owner, QSM.level)), str(name)):
            yield Fault(owner, fault, QSM.subject, name)


def _misfit_requirements(description: Graph) -> Iterator[Fault]:
    metrics = vocabulary().by_iri()
    for requirement, iri in description.subject_objects(ODRL.leftOperand):
        metric = metrics.get(str(iri))
        if metric is None:
            continue
        for unit in description.objects(requirement, ODRL.unit):
            if unit not in metric.units.values():
                message = f"the unit does not fit: {metric.kind} takes {_units(metric.units.values())}"
                yield Fault(requirement, f"{message} (it has {short(unit)})", ODRL.unit, unit)
            size = vocabulary().unit_sizes.get(str(unit), 1.0)
            for number in description.objects(requirement, ODRL.rightOperand):
                if _is_positive(number) and float(str(number)) * size > MAX_BOUND:
                    limit = f"{MAX_BOUND / size:.15g} {short(unit)}"
                    message = f"requires more than can be: write at most {limit}"
                    yield Fault(requirement, message, ODRL.rightOperand, number)
        needed = ODRL.lteq if metric.kind.at_most else ODRL.gteq
        for operator in description.objects(requirement, ODRL.operator):
            if operator in (ODRL.gteq, ODRL.lteq) and operator != needed:
                bound = metric.kind.bound_name
                message = f"{metric.kind} is a {bound}: its odrl:operator is odrl:{short(needed)}"
                yield Fault(requirement, message, ODRL.operator, operator)


def _repeated_kinds(description: Graph) -> Iterator[Fault]:
    for owner in set(description.subjects(QSM.requires)):
        seen: set[Node] = set()
        for requirement in description.objects(owner, QSM.requires):
            for kind in description.objects(requirement, ODRL.leftOperand):
                if kind in seen:
                    yield Fault(owner, f"states {short(kind)} more than once", QSM.requires)
                seen.add(kind)


def _misfit_metrics(description: Graph) -> Iterator[Fault]:
    for metric in description.subjects(RDF.type, QSM.Metric):
        measured = description.value(metric, QUDT.hasQuantityKind)
        for unit in description.objects(metric, QUDT.hasUnit):
            fits = (unit, QUDT.unitForQuantityKind, measured)
            if measured is not None and fits not in description and fits not in vocabulary().graph:
                message = f"{short(unit)} is no unit for {short(measured)}"
                yield Fault(metric, message, QUDT.hasUnit, unit)


def _stated_values(description: Graph) -> Iterator[Fault]:
    """Yield what is wrong with values of kinds that are stated of elements, such as a latency."""
    for metric in vocabulary().metrics.values():
        if metric.constrains is None:
            continue
        name = short(metric.constrains)
        for element, quantity in description.subject_objects(metric.constrains):
            number = description.value(quantity, QUDT.numericValue)
            unit = description.value(quantity, QUDT.hasUnit)
            if number is None or not _is_positive(number):
                yield Fault(element, f"{name} needs one qudt:numericValue greater than 0", metric.constrains)
            elif unit not in metric.units.values():
                message = f"{name} needs one qudt:hasUnit of {_units(metric.units.values())}"
                yield Fault(element, message, metric.constrains)


def _node_classes(description: Graph) -> Iterator[Fault]:
    """Yield lists of nodes that cannot be read, and nodes of two classes."""
    of_class: dict[str, Node] = {}
    count = 0
    for owner, text in sorted(description.subject_objects(QSM.nodes)):
        try:
            nodes = expanded(str(text))
        except HostlistError as error:
            yield Fault(owner, str(error), QSM.nodes, text)
            continue
        count += len(nodes)
        if count > MAX_NODES:
            yield Fault(owner, f"node classes name more than {MAX_NODES} nodes together", QSM.nodes, text)
            return
        shared = [name for name in nodes if of_class.setdefault(name, owner) != owner]
        if shared:
            message = f"{shared[0]} is in {short(of_class[shared[0]])}, too: a node is of one class"
            yield Fault(owner, message, QSM.nodes, text)


def _units(iris: Iterable[URIRef]) -> str:
    sizes = vocabulary().unit_sizes
    return ", ".join(
        short(shown) for shown in sorted(set(iris), key=lambda iri: (sizes.get(str(iri), 0.0), iri))
    )


def _is_positive(number: Node) -> bool:
    try:
        return 0 < float(str(number)) < math.inf
    except ValueError:
        return False


def named(node: Node | None, description: Graph) -> str:
    """Return what a person calls a node: its short name, or whose property it is."""
    properties: list[str] = []
    while isinstance(node, BNode):
        owner = next(description.subject_predicates(node), None)
        if owner is None or len(properties) > _DEEPEST:  # or it stands in itself
            return " of ".join([*properties, "a node without a name"])
        properties.append(short(owner[1]))
        node = owner[0]
    return " of ".join([*properties, short(node)])


def short(term: Node | None) -> str:
    """Return the last part of an IRI, or the text of a literal."""
    text = str(term)
    return text.rsplit("#", 1)[-1].rsplit("/", 1)[-1] if isinstance(term, URIRef) else text


def _too_long(level: str, name: str) -> str | None:
    """Say what is longer than it may be in the name of a set of requirements; None: nothing."""
    owner, _, application = name.partition(":") if level == "application" else (name, "", "")
    if level == "profile":
        owner = name.rpartition(":")[0].removeprefix("%")
    if not is_application(application):
        return f"the name of the application is longer than {MAX_APPLICATION} bytes of UTF-8"
    return f"a name in it is longer than {MAX_NAME} characters" if len(owner) > MAX_NAME else None
