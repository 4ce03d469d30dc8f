"""What is stated about each subject, in one canonical form: to compare, to sort, to write as Turtle.

A description maps each subject to its properties and their values. Blank nodes become part of the value they
stand in; one that is no part of exactly one value gets an IRI made from what it says. Numbers have one
spelling: reals are doubles, because a store may not find a decimal again under its own spelling. Moments are
in UTC, with a Z: what reads Turtle may write the zone in another way. What two stores, or a file and a store,
say is the same exactly when the descriptions are equal. Knows no store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from itertools import count
from typing import TypeAlias

from rdflib import RDF, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node
from ses_client.turtle import BASE
from ses_listen import deadline

from ses_service.knowledge.errors import InvalidDescriptionError, TooManyStatementsError
from ses_service.knowledge.queries import Statement
from ses_service.knowledge.terms import QSM

DEEPEST = 2
"""Blank nodes inside blank nodes, counted from a subject, that stay blank; what lies deeper gets an IRI."""

_MAX_NAMED = 200
"""Blank nodes of one text that get an IRI: to find names that do not depend on their order takes a time that
grows with the square of their number."""

BOOKKEEPING = frozenset({QSM.revision, QSM.change, QSM.modifiedAt, QSM.modifiedBy, QSM.digest})
"""What the service notes by itself; no part of what anybody says."""

_REALS = frozenset({XSD.double, XSD.float, XSD.decimal})
_GENERATED = f"{BASE}genid/"


@dataclass(frozen=True, slots=True)
class Nested:
    """A blank node: what is stated about it, in order."""

    facts: tuple[tuple[URIRef, Value], ...]


Value: TypeAlias = URIRef | Literal | Nested
Facts: TypeAlias = dict[URIRef, frozenset[Value]]
Description: TypeAlias = dict[URIRef, Facts]
_Stated: TypeAlias = dict[Node, list[tuple[Node, Node]]]


def describe(graph: Graph) -> Description:
    """Return what a graph says, without bookkeeping. A requirement is part of the set that requires it.

    Raises ``InvalidDescriptionError`` for far more blank nodes without a place than anybody writes.
    """
    stated, inside = _stated(graph), _required(graph)
    odd = _odd(stated, inside)
    if odd:
        graph = _named(graph, stated, inside, odd)
        stated, inside = _stated(graph), _required(graph)
    described: Description = {}
    for subject in stated:
        if isinstance(subject, URIRef) and subject not in inside:
            facts = _facts(stated, subject, inside)
            if facts:
                described[subject] = facts
    return described


def graph_of(rows: Iterable[Mapping[str, URIRef | BNode | Literal]]) -> Graph:
    """Return the graph of rows with the columns ``s``, ``p`` and ``o``."""
    graph = Graph()
    for row in rows:
        graph.add((row["s"], row["p"], row["o"]))
    return graph


def as_graph(description: Description) -> Graph:
    """Return the triples of a description."""
    graph, labels = Graph(), count(1)
    for subject, facts in description.items():
        for statement in statements(subject, facts, labels):
            graph.add(statement)
    return graph


def statements(subject: URIRef, facts: Facts, labels: Iterator[int] | None = None) -> list[Statement]:
    """Return the triples of one description; ``labels`` gives numbers to blank nodes."""
    numbers = count(1) if labels is None else labels
    listed: list[Statement] = []

    def say(about: URIRef | BNode, property_: URIRef, value: Value) -> None:
        if isinstance(value, Nested):
            node = BNode(f"n{next(numbers)}")
            listed.append((about, property_, node))
            for inner, nested in value.facts:
                say(node, inner, nested)
        else:
            listed.append((about, property_, value))

    for property_ in sorted(facts):
        for value in _in_order(facts[property_]):
            say(subject, property_, value)
    return listed


def canonical(literal: Literal) -> Literal:
    """Return the one spelling of a literal."""
    return _canonical(str(literal), literal.language, literal.datatype)


@lru_cache(maxsize=2**12)
def _canonical(text: str, language: str | None, datatype: URIRef | None) -> Literal:
    if language:
        return Literal(text, lang=language.lower())
    if datatype is None or datatype == XSD.string:
        return Literal(text)
    try:
        if datatype in _REALS:
            return Literal(_real(float(text)), datatype=XSD.double, normalize=False)
        if datatype == XSD.integer:
            text = str(int(text))
        if datatype == XSD.dateTime:
            text = _moment(text)
    except (ValueError, OverflowError):
        pass
    if datatype == XSD.boolean:
        text = {"1": "true", "0": "false"}.get(text, text)
    return Literal(text, datatype=datatype, normalize=False)


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment.tzinfo else text


def sort_key(value: Value) -> str:
    """Return what values of one property are put in order by."""
    if isinstance(value, Nested):
        return "[" + " ".join(f"{property_} {sort_key(nested)}" for property_, nested in value.facts)
    if isinstance(value, Literal):
        return f'"{value}"@{value.language}^^{value.datatype}'
    return f"<{value}>"


def _in_order(values: frozenset[Value]) -> Iterable[Value]:
    return values if len(values) == 1 else sorted(values, key=sort_key)


def _real(number: float) -> str:
    if not math.isfinite(number):
        return {math.inf: "INF", -math.inf: "-INF"}.get(number, "NaN")
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def _facts(stated: _Stated, node: URIRef | BNode, inside: set[Node]) -> Facts:
    collected: dict[URIRef, set[Value]] = {}
    for property_, value in stated.get(node, ()):
        if property_ not in BOOKKEEPING:
            collected.setdefault(_plain(property_), set()).add(_value(stated, property_, value, inside))
    return {property_: frozenset(values) for property_, values in collected.items()}


def _value(stated: _Stated, property_: Node, value: Node, inside: set[Node]) -> Value:
    if isinstance(value, Literal):
        return canonical(value)
    if isinstance(value, BNode) or (
        isinstance(value, URIRef) and property_ == QSM.requires and value in inside
    ):
        facts = _facts(stated, value, inside)
        return Nested(
            tuple((property_, value) for property_ in sorted(facts) for value in _in_order(facts[property_]))
        )
    return _plain(value)


def _plain(term: object) -> URIRef:
    return term if type(term) is URIRef else URIRef(str(term))


def _required(graph: Graph) -> set[Node]:
    """Return the requirements of sets; what requires something itself is no part of another set."""
    return set(graph.objects(None, QSM.requires)) - set(graph.subjects(QSM.requires, None))


def _stated(graph: Graph) -> _Stated:
    stated: _Stated = {}
    for subject, property_, value in graph:
        deadline.check()
        stated.setdefault(subject, []).append((property_, value))
    return stated


def _odd(stated: _Stated, inside: set[Node]) -> set[BNode]:
    """Return the blank nodes that need an IRI: they are not part of one value, or lie too deep."""
    places: dict[BNode, list[Node]] = {}
    for subject, facts in stated.items():
        for _, value in facts:
            if isinstance(value, BNode):
                places.setdefault(value, []).append(subject)
    blank = {node for node in stated if isinstance(node, BNode)} | set(places)

    def depth(node: Node) -> int:
        steps, seen = 0, set[Node]()
        while isinstance(node, BNode) and steps <= DEEPEST:
            around = places.get(node, [])
            if len(around) != 1 or node in seen:
                return DEEPEST + 1
            seen.add(node)
            node, steps = around[0], steps + 1
        return steps + (1 if node in inside else 0)

    return {node for node in blank if depth(node) > DEEPEST}


def _named(graph: Graph, stated: _Stated, inside: set[Node], odd: set[BNode]) -> Graph:
    if len(odd) > _MAX_NAMED:
        raise TooManyStatementsError(
            "the description",
            [
                f"{len(odd)} blank nodes have no place of their own or lie deeper than {DEEPEST} in others;"
                f" {_MAX_NAMED} at most: give them names"
            ],
        )
    colours = _colours(stated, inside, odd)
    alike = len(odd) - len({colours[node] for node in odd})
    if alike:
        message = f"{alike} blank nodes differ from others in nothing that is stated of them: give them names"
        raise InvalidDescriptionError("the description", [message])
    names: dict[Node, Node] = {node: URIRef(f"{_GENERATED}{colours[node]}") for node in odd}
    renamed = Graph()
    for subject, property_, value in graph:
        renamed.add((names.get(subject, subject), property_, names.get(value, value)))
    return renamed


def _colours(stated: _Stated, inside: set[Node], odd: set[BNode]) -> dict[Node, str]:
    """Return what distinguishes blank nodes in any order: what is stated of them and where they stand.

    Of those in ``odd`` and what they stand in; by colour refinement, until it distinguishes no more of them.
    """
    around: dict[Node, list[tuple[Node, Node]]] = {}
    for subject, facts in stated.items():
        for property_, value in facts:
            if isinstance(value, BNode):
                around.setdefault(value, []).append((property_, subject))
    colours: dict[Node, str] = {}
    ahead: list[Node] = list(odd)
    while ahead:
        node = ahead.pop()
        if isinstance(node, BNode) and node not in colours:
            colours[node] = ""
            ahead += [subject for _, subject in around.get(node, ())]

    def colour(property_: Node, value: Node) -> str:
        known = colours.get(value)
        return sort_key(_value(stated, property_, value, inside)) if known is None else known

    def seen(node: Node) -> str:
        deadline.check()
        of_it = [f">{property_} {colour(property_, it)}" for property_, it in stated.get(node, ())]
        of_others = [f"<{property_} {colours.get(it, it)}" for property_, it in around.get(node, ())]
        return sha256("\n".join(sorted(of_it + of_others)).encode()).hexdigest()[:32]

    apart = 1
    while True:
        colours = {node: seen(node) for node in colours}
        colour_count = len(set(colours.values()))
        if colour_count <= apart:
            return colours
        apart = colour_count


def is_generated(subject: URIRef) -> bool:
    """Return whether a subject was a blank node where it came from."""
    return subject.startswith(_GENERATED)


def types(facts: Facts) -> frozenset[Value]:
    """Return the classes of a subject."""
    return facts.get(RDF.type, frozenset())
