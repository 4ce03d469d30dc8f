"""What the vocabulary says: kinds of requirement, units, profiles, classes of storage.

The vocabulary is the project's own Turtle files and those a site adds (``SES_VOCABULARY``). It is read once
per process: a service that should know another kind is restarted. What :mod:`ses_service.model.kinds` says of
the predicted kinds is held against it by a test.
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rdflib import RDF, RDFS, SKOS, Graph, Literal, URIRef
from rdflib.term import Node
from ses_client.errors import SesError
from ses_client.text_files import read_text
from ses_client.turtle import TurtleError

from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.statements.bounded import parse_turtle
from ses_service.knowledge.terms import ODRL, QSM, QUDT, STRICTNESS, ontology_directory
from ses_service.knowledge.times import moment
from ses_service.knowledge.workloads import Parameter, Workload
from ses_service.model.entities import Profile, Requirement, Strictness
from ses_service.model.kinds import PREDICTED, Kind, KindDescription, UnknownKindError, in_order
from ses_service.model.limits import MAX_BOUND

OWN_FILES = ("qstorman.ttl", "kinds.ttl", "units.ttl", "profiles.ttl", "workloads.ttl")
_STRICTNESS = {term: strictness for strictness, term in STRICTNESS.items()}


@dataclass(frozen=True, slots=True)
class Metric:
    """A kind as the ontology names it.

    ``base`` is the unit requirements are stored in; ``constrains`` the property of elements it bounds,
    ``None`` where the service predicts the value. ``units`` are those it may be written in: IRIs by symbol.
    """

    iri: URIRef
    described: KindDescription
    base: URIRef
    constrains: URIRef | None
    units: Mapping[str, URIRef]

    @property
    def kind(self) -> Kind:
        """The kind as decisions know it."""
        return self.described.kind

    def symbol(self, unit: str) -> str:
        """Return the symbol of a unit by its IRI; empty for the unit that stands for none, and others."""
        symbols = (symbol for symbol, iri in self.units.items() if str(iri) == unit)
        return "" if unit == str(self.base) else next(symbols, "")


@dataclass(frozen=True, eq=False, slots=True)
class Vocabulary:
    """The vocabulary, read.

    ``metrics`` by the name of their kind, and ``names`` by every spelling of it. ``unit_sizes`` is the size
    of each unit in the unit its quantities are computed in, by IRI. ``backends`` says which back end serves
    each class of storage systems, and ``sources`` which files all of this is from.
    """

    graph: Graph
    metrics: Mapping[str, Metric]
    names: Mapping[str, str]
    unit_sizes: Mapping[str, float]
    profiles: Mapping[str, Profile]
    workloads: Mapping[str, Workload]
    backends: Mapping[str, str]
    sources: tuple[Path, ...]

    def metric(self, name: str) -> Metric:
        """Return the kind of this name, however it is spelled. Raises UnknownKindError."""
        metric = self.metrics.get(name)
        if metric is not None:
            return metric
        spelled = _spelled(name)
        named = self.names.get(spelled)
        if named is None:
            near = difflib.get_close_matches(spelled, self.names, 1)
            hint = f"did you mean {self.names[near[0]]}? " if near else ""
            raise UnknownKindError(f"unknown kind {name!r}; {hint}use one of {', '.join(self.metrics)}")
        return self.metrics[named]

    def by_iri(self) -> dict[str, Metric]:
        """Return the kinds by their IRI."""
        return {str(metric.iri): metric for metric in self.metrics.values()}

    def turtle(self) -> str:
        """Return all of it as one text."""
        return self.graph.serialize(format="nt")


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary of this process, read at the first call.

    Raises ``FileNotFoundError`` when a file is missing and ``InvalidDescriptionError`` when one is no Turtle.
    """
    own, added = ontology_directory(), os.environ.get("SES_VOCABULARY", "")
    return read_vocabulary([*(own / name for name in OWN_FILES), *_additions(added)])


def _additions(named: str) -> Iterator[Path]:
    """Yield the files a site adds: those named, and every ``.ttl`` of a folder, in the order of names."""
    for part in filter(None, named.split(os.pathsep)):
        place = Path(part)
        if place.is_dir():
            yield from sorted(place.glob("*.ttl"))
        elif place.is_file():
            yield place
        else:
            raise FileNotFoundError(f"SES_VOCABULARY names {part}, which does not exist")


def read_vocabulary(files: list[Path]) -> Vocabulary:
    """Return what these files say together. Raises like :func:`vocabulary`."""
    graph = Graph()
    for path in files:
        try:
            graph += parse_turtle(read_text(path))[0]
        except (TurtleError, SesError) as error:
            raise InvalidDescriptionError(str(path), [str(error)]) from None
    sizes = _unit_sizes(graph)
    metrics = dict(sorted(_metrics(graph, sizes), key=_rank))
    return Vocabulary(
        graph=graph,
        metrics=metrics,
        names=_names(metrics),
        unit_sizes={str(unit): size for unit, size in sizes.items()},
        profiles={profile.name: profile for profile in _profiles(graph, metrics, sizes)},
        workloads={workload.name: workload for workload in _workloads(graph, metrics, sizes)},
        backends=_backends(graph),
        sources=tuple(files),
    )


def _spelled(name: str) -> str:
    """Return a name without what people write in different ways."""
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())


def _names(metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Return the name of each kind by every spelling; a name goes before another kind's other spelling."""
    names = {name: name for name in metrics}
    for name, metric in metrics.items():
        for spelling in (*metric.described.spellings, metric.described.label):
            names.setdefault(_spelled(spelling), name)
    return names


def _rank(entry: tuple[str, Metric]) -> tuple[int, str]:
    name = entry[0]
    return (PREDICTED.index(entry[1].kind) if name in PREDICTED else len(PREDICTED)), name


def _number(graph: Graph, subject: Node | None, property_: URIRef) -> float | None:
    stated = graph.value(subject, property_)
    return None if stated is None else float(str(stated))


def _unit_sizes(graph: Graph) -> dict[Node, float]:
    """Return how many of the unit its quantities are computed in each unit is, from QUDT's multipliers."""
    sizes: dict[Node, float] = {}
    for unit, measured in graph.subject_objects(QUDT.unitForQuantityKind):
        multiplier = _number(graph, unit, QUDT.conversionMultiplier)
        base = _number(graph, graph.value(measured, QSM.computedIn), QUDT.conversionMultiplier)
        if multiplier is not None and (base is not None or unit not in sizes):
            sizes[unit] = multiplier / (base or 1.0)
    return sizes


def _units_for(graph: Graph, measured: Node, sizes: Mapping[Node, float]) -> dict[str, float]:
    listed = [
        (size, str(symbol))
        for unit in graph.subjects(QUDT.unitForQuantityKind, measured)
        if (size := sizes.get(unit)) is not None
        for symbol in (*graph.objects(unit, QUDT.symbol), *graph.objects(unit, QUDT.altSymbol))
    ]
    return {symbol: size for size, symbol in sorted(listed)}


def _symbols(graph: Graph, measured: Node) -> dict[str, URIRef]:
    """Return the units of a quantity by their symbols: of each unit, the one that is shown before others."""
    units = sorted(graph.subjects(QUDT.unitForQuantityKind, measured), key=str)
    return {
        str(symbol): URIRef(str(unit))
        for property_ in (QUDT.symbol, QUDT.altSymbol)
        for unit in units
        for symbol in sorted(graph.objects(unit, property_), key=str)
    }


def _metrics(graph: Graph, sizes: Mapping[Node, float]) -> Iterator[tuple[str, Metric]]:
    for iri in graph.subjects(RDF.type, QSM.Metric):
        name, unit = graph.value(iri, QSM.name), graph.value(iri, QUDT.hasUnit)
        measured = graph.value(iri, QUDT.hasQuantityKind)
        if name is None or measured is None or unit is None or unit not in sizes:
            continue  # validation says so; a requirement of such a kind is unknown
        kind = Kind(
            str(name),
            str(graph.value(unit, QUDT.symbol)),
            sizes[unit],
            at_most=graph.value(iri, ODRL.operator) == ODRL.lteq,
        )
        weight = _number(graph, iri, QSM.defaultWeight)
        described = KindDescription(
            kind=kind,
            label=_text(graph, iri, RDFS.label, kind),
            definition=_text(graph, iri, SKOS.definition, ""),
            units=_units_for(graph, measured, sizes),
            weight=1.0 if weight is None else weight,
            spellings=tuple(sorted(str(label) for label in graph.objects(iri, SKOS.altLabel))),
        )
        base = graph.value(measured, QSM.computedIn)
        constrains = graph.value(iri, QSM.constrains)
        yield (
            kind.value,
            Metric(
                URIRef(str(iri)),
                described,
                URIRef(str(unit if base is None else base)),
                None if constrains is None else URIRef(str(constrains)),
                _symbols(graph, measured),
            ),
        )


def _profiles(graph: Graph, metrics: Mapping[str, Metric], sizes: Mapping[Node, float]) -> Iterator[Profile]:
    kinds = {metric.iri: metric.kind for metric in metrics.values()}
    for iri in sorted(graph.subjects(RDF.type, QSM.Profile), key=str):
        name = graph.value(iri, QSM.name)
        if name is None:
            continue
        stated = [_requirement(graph, node, kinds, sizes) for node in graph.objects(iri, QSM.requires)]
        requirements = sorted(
            (requirement for requirement in stated if requirement), key=lambda requirement: requirement.kind
        )
        yield Profile(
            str(name),
            tuple(requirements),
            label=_text(graph, iri, RDFS.label, str(name)),
            definition=_text(graph, iri, SKOS.definition, ""),
            iri=str(iri),
        )


def _workloads(
    graph: Graph, metrics: Mapping[str, Metric], sizes: Mapping[Node, float]
) -> Iterator[Workload]:
    kinds = {metric.iri: metric.kind for metric in metrics.values()}
    for iri in sorted(graph.subjects(RDF.type, QSM.Workload), key=str):
        parameters = []
        for node in graph.objects(iri, QSM.parameter):
            measured = graph.value(node, QUDT.hasQuantityKind)
            parameters.append(
                Parameter(
                    str(graph.value(node, QSM.name)),
                    _text(graph, node, SKOS.definition, ""),
                    None if measured is None else _units_for(graph, measured, sizes),
                    _number(graph, node, QSM.standardValue),
                )
            )
        rules = {
            kinds[metric]: str(graph.value(node, QSM.formula))
            for node in graph.objects(iri, QSM.derives)
            if (metric := URIRef(str(graph.value(node, ODRL.leftOperand)))) in kinds
        }
        yield Workload(
            str(graph.value(iri, QSM.name)),
            str(graph.value(iri, QSM.phrase)),
            _text(graph, iri, SKOS.definition, ""),
            _text(graph, iri, SKOS.example, ""),
            {
                parameter.name: parameter
                for parameter in sorted(parameters, key=lambda parameter: parameter.name)
            },
            {kind: rules[kind] for kind in in_order(rules)},
        )


def _requirement(
    graph: Graph, node: Node, kinds: Mapping[URIRef, Kind], sizes: Mapping[Node, float]
) -> Requirement | None:
    metric, unit = graph.value(node, ODRL.leftOperand), graph.value(node, ODRL.unit)
    bound, weight = _number(graph, node, ODRL.rightOperand), _number(graph, node, QSM.weight)
    if unit is None or unit not in sizes or bound is None or URIRef(str(metric)) not in kinds:
        return None
    return Requirement(
        kinds[URIRef(str(metric))],
        min(bound * sizes[unit], MAX_BOUND),
        1.0 if weight is None else weight,
        _STRICTNESS.get(URIRef(str(graph.value(node, QSM.strictness))), Strictness.SOFT),
        valid_from=moment(graph.value(node, QSM.validFrom)),
        valid_until=moment(graph.value(node, QSM.validUntil)),
        unit=str(graph.value(unit, QUDT.symbol) or ""),
    )


def _backends(graph: Graph) -> dict[str, str]:
    """Return the back end of each class that states one, and of its subclasses that state none."""
    by_class: dict[str, str] = {}
    seen = set[tuple[Node, Node | None]]()
    ahead: list[tuple[Node, Node | None]] = [(QSM.StorageSystem, None)]
    while ahead:
        class_, inherited = ahead.pop()
        backend = graph.value(class_, QSM.backend) or inherited
        if (class_, backend) not in seen:
            seen.add((class_, backend))
            ahead += [(below, backend) for below in graph.subjects(RDFS.subClassOf, class_)]
            if backend is not None:
                by_class.setdefault(str(class_), str(backend))
    return by_class


def _text(graph: Graph, subject: Node, property_: URIRef, default: str) -> str:
    """Return the English text of a property, else the first of another language."""
    texts = sorted(
        (text for text in graph.objects(subject, property_) if isinstance(text, Literal)),
        key=lambda text: (text.language not in (None, "en"), str(text.language), str(text)),
    )
    return str(texts[0]) if texts else default
