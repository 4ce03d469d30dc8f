"""What is wrong with a Turtle text, with the line and the node each fault concerns.

Site descriptions, requirements and additions to the vocabulary all go through here. Does not read or write a
store, and does not say that a site is complete: an empty text is faultless.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import pyshacl
from rdflib import RDF, SH, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ses_service.knowledge.terms import BACKENDS, QSM, ontology_directory
from ses_service.knowledge.turtle import Lines, TurtleError, parse_turtle

_SEVERITIES = {SH.Violation: "error", SH.Warning: "warning", SH.Info: "note"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. ``line`` counts from 1; ``None`` where no line of the text is to blame.

    ``node`` is what the fault concerns, in short (``b3``, ``capacity of b3``); ``severity`` is ``error``
    (the text is refused), ``warning`` or ``note``.
    """

    line: int | None
    node: str
    message: str
    severity: str = "error"

    def in_words(self) -> str:
        """Return the finding as one sentence, with the line in front where it is known."""
        place = "" if self.line is None else f"line {self.line}: "
        return f"{place}{self.node}: {self.message}" if self.node else f"{place}{self.message}"


def validate(text: str, name: str) -> list[Finding]:
    """Return what is wrong with a Turtle text, by line; empty when all is well. Raises nothing.

    ``name`` is what the text is called in messages that concern the whole of it.
    """
    try:
        description, lines = parse_turtle(text)
    except TurtleError as error:
        return [Finding(error.line, name, error.message)]
    found = [*_broken_shapes(description, lines), *_odd_names(description, lines)]
    return sorted(set(found), key=lambda one: (one.line or 0, one.node, one.message))


def refused(findings: list[Finding]) -> bool:
    """Return whether a text with these findings may not be used."""
    return any(one.severity == "error" for one in findings)


def _broken_shapes(description: Graph, lines: Lines) -> list[Finding]:
    conforms, report, _text = pyshacl.validate(
        description, shacl_graph=_shapes(), ont_graph=_vocabulary(), inference="none", allow_warnings=True
    )
    del conforms  # warnings conform, and are told
    return [
        _finding(report, result, description, lines)
        for result in report.objects(report.value(None, RDF.type, SH.ValidationReport), SH.result)
    ]


def _finding(report: Graph, result: Node, description: Graph, lines: Lines) -> Finding:
    node = report.value(result, SH.focusNode)
    path, value = report.value(result, SH.resultPath), report.value(result, SH.value)
    severity = report.value(result, SH.resultSeverity)
    message = "; ".join(sorted(str(one) for one in report.objects(result, SH.resultMessage)))
    got = f" (it has {short(value)})" if isinstance(value, URIRef | Literal) and value != node else ""
    return Finding(
        lines.of(node, path, value),
        named(node, description),
        f"{message}{got}",
        _SEVERITIES.get(URIRef(str(severity)), "error"),
    )


def _odd_names(description: Graph, lines: Lines) -> list[Finding]:
    return [*_unknown_terms(description, lines), *_shared_names(description, lines)]


def _unknown_terms(description: Graph, lines: Lines) -> list[Finding]:
    known = {short(term) for term in _vocabulary().subjects() if str(term).startswith(QSM)}
    found = []
    for subject, predicate, value in description:
        used: tuple[Node, ...] = (predicate, value) if predicate == RDF.type else (predicate,)
        for term in used:
            if str(term).startswith(QSM) and short(term) not in known:
                near = difflib.get_close_matches(short(term), sorted(known), 1)
                hint = f"; did you mean qsm:{near[0]}?" if near else ""
                message = f"qsm:{short(term)} is not in the vocabulary{hint}"
                line = lines.of(subject, predicate, value)
                found.append(Finding(line, named(subject, description), message))
    return found


def _shared_names(description: Graph, lines: Lines) -> list[Finding]:
    systems = {node for type_ in BACKENDS for node in description.subjects(RDF.type, URIRef(type_))}
    seen: dict[tuple[Node | None, str], list[Node]] = {}
    for system in systems:
        for name in description.objects(system, QSM.name):
            seen.setdefault((None, str(name)), []).append(system)
    for element, system in description.subject_objects(QSM.elementOf):
        for name in description.objects(element, QSM.name):
            seen.setdefault((system, str(name)), []).append(element)
    found = []
    for (within, shared), sharing in seen.items():
        if len(set(sharing)) > 1:
            line, last = max((lines.of(one, QSM.name) or 0, one) for one in set(sharing))
            others = " and ".join(sorted(short(one) for one in set(sharing) - {last}))
            where = "; each storage system needs its own" if within is None else " in one storage system"
            message = f"shares the name {shared!r} with {others}{where}"
            found.append(Finding(line or None, named(last, description), message))
    return found


def _shapes() -> Graph:
    return Graph().parse(ontology_directory() / "shapes.ttl")


def _vocabulary() -> Graph:
    return Graph().parse(ontology_directory() / "qstorman.ttl")


def named(node: Node | None, description: Graph) -> str:
    """Return what a person calls a node: its short name, or whose property it is."""
    if isinstance(node, BNode):
        for owner, property_ in description.subject_predicates(node):
            return f"{short(property_)} of {named(owner, description)}"
        return "a node without a name"
    return short(node)


def short(term: Node | None) -> str:
    """Return the last part of an IRI, or the text of a literal."""
    text = str(term)
    return text.rsplit("#", 1)[-1].rsplit("/", 1)[-1] if isinstance(term, URIRef) else text
