"""Descriptions of a site in Turtle: read, checked against the shapes, made ready to store."""

from __future__ import annotations

import difflib
import hashlib
from functools import cache

import pyshacl
from rdflib import Graph, Literal, URIRef
from rdflib.namespace import RDF, SH
from rdflib.plugins.parsers.notation3 import BadSyntax

from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.terms import BACKENDS, QSM, SITE_GRAPH, ontology_directory


@cache
def _turtle(name: str) -> Graph:
    return Graph().parse(ontology_directory() / name)


def parse(turtle: str, source: str) -> Graph:
    """Return the triples of a description.

    Raises ``InvalidDescriptionError`` that names the line where the Turtle is malformed.
    """
    try:
        return Graph().parse(data=turtle, format="turtle", publicID="https://example.org/qstorman/site/")
    except BadSyntax as error:
        raise InvalidDescriptionError(source, [f"line {error.lines + 1}: not Turtle: {error._why}"]) from None
    except Exception as error:
        # The parser lets AssertionError, ValueError and IndexError out on some malformed texts.
        raise InvalidDescriptionError(source, [f"not Turtle: {error}"]) from None


def violations(description: Graph) -> list[str]:
    """Return what is wrong with a description, one sentence for each fault; empty when all is well."""
    conforms, report, _text = pyshacl.validate(
        description, shacl_graph=_turtle("shapes.ttl"), ont_graph=_turtle("qstorman.ttl"), inference="none"
    )
    found = [] if conforms else sorted(_sentences(report, description))
    return found + unknown_terms(description) + duplicate_names(description)


def unknown_terms(description: Graph) -> list[str]:
    """Return a sentence for each term of our namespace that the vocabulary does not have."""
    known = {_short(term) for term in _turtle("qstorman.ttl").subjects() if str(term).startswith(QSM)}
    used = set(description.predicates()) | set(description.objects(None, RDF.type))
    found = sorted({_short(term) for term in used if str(term).startswith(QSM)} - known)
    near = {name: difflib.get_close_matches(name, sorted(known), 1) for name in found}
    return [
        f"qsm:{name} is not in the vocabulary"
        + (f"; did you mean qsm:{near[name][0]}?" if near[name] else "")
        for name in found
    ]


def duplicate_names(description: Graph) -> list[str]:
    """Return a sentence for each name two storage systems share, or two elements of one system.

    Says, too, when there is no storage system at all: loading that would empty the site.
    """
    systems = {node for type_ in BACKENDS for node in description.subjects(RDF.type, URIRef(type_))}
    if not systems:
        return ["the description has no storage system (qsm:MergerfsUnion, qsm:LustreFileSystem, ...)"]
    seen: dict[tuple[str, str], set[str]] = {}
    for system in systems:
        for name in description.objects(system, QSM.name):
            seen.setdefault(("", str(name)), set()).add(_short(system))
    for element, system in description.subject_objects(QSM.elementOf):
        for name in description.objects(element, QSM.name):
            seen.setdefault((str(system), str(name)), set()).add(_short(element))
    return [
        f"{' and '.join(sorted(sharing))} share the name {name!r}"
        + (" in one storage system" if system else "; each storage system needs its own")
        for (system, name), sharing in sorted(seen.items())
        if len(sharing) > 1
    ]


def digest(turtle: str) -> str:
    """Return a hash of a description together with the shapes it is checked against."""
    shapes = (ontology_directory() / "shapes.ttl").read_bytes()
    return hashlib.sha256(turtle.encode() + shapes).hexdigest()


def storable(description: Graph, turtle: str) -> str:
    """Return the Turtle of the site graph: the description and the digest of its text."""
    graph = Graph() + description
    graph.add((SITE_GRAPH, QSM.digest, Literal(digest(turtle))))
    # N-Triples are Turtle, too, and cost a third of the time to write.
    return graph.serialize(format="nt")


def _sentences(report: Graph, description: Graph) -> set[str]:
    found = set()
    for result in report.objects(None, SH.result):
        node = report.value(result, SH.focusNode)
        value = report.value(result, SH.value)
        named = _named(node, description)
        got = (
            f" (it has {_short(value)})"
            if value is not None and isinstance(value, URIRef | Literal) and value != node
            else ""
        )
        for message in report.objects(result, SH.resultMessage):
            found.add(f"{named}: {message}{got}")
    return found


def _named(node: object, description: Graph) -> str:
    if isinstance(node, URIRef):
        return _short(node)
    for owner, property_ in description.subject_predicates(node):  # type: ignore[arg-type]
        return f"{_short(property_)} of {_short(owner)}"
    return "a node without a name"


def _short(term: object) -> str:
    text = str(term)
    return text.rsplit("#", 1)[-1].rsplit("/", 1)[-1] if isinstance(term, URIRef) else text
