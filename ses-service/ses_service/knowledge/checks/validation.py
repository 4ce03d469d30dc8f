"""What is wrong with a Turtle text, with the line and the node each fault concerns.

Site descriptions, requirements and additions to the vocabulary all go through here. Does not read or write a
store, and does not say that a site is complete: an empty text is faultless.
"""

from dataclasses import dataclass
from functools import cache
from itertools import chain

import structlog
from rdflib import RDF, SH, Graph, Literal, URIRef
from rdflib.term import Node
from ses_client.turtle import Line, Lines, TurtleError, is_trig

from ses_service.knowledge.checks.consistency import faults, named, short
from ses_service.knowledge.checks.quick_check import Screen, UnknownConstraintError
from ses_service.knowledge.errors import TooManyStatementsError
from ses_service.knowledge.queries import serialise
from ses_service.knowledge.statements.bounded import bounded_graph, parse_turtle
from ses_service.knowledge.statements.triples import Triples
from ses_service.knowledge.terms import ontology_directory
from ses_service.knowledge.vocabulary import vocabulary

_log = structlog.get_logger(__name__)
_SEVERITIES = {SH.Violation: "error", SH.Warning: "warning", SH.Info: "note"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. ``line`` counts from 1; ``None`` where no line of the text is to blame.

    ``node`` is what the fault concerns, in short (``b3``, ``capacity of b3``); ``severity`` is ``error``
    (the text is refused), ``warning`` or ``note``.
    """

    line: Line | None
    node: str
    message: str
    severity: str = "error"

    def in_words(self) -> str:
        """Return the finding as one sentence, with the line in front where it is known."""
        place = "" if self.line is None else f"{self.line.in_words()}: "
        return f"{place}{self.node}: {self.message}" if self.node else f"{place}{self.message}"


def validate(text: str, name: str, *, trig: bool | None = None) -> list[Finding]:
    """Return what is wrong with a Turtle text, by line; empty when all is well. Raises nothing.

    ``name`` is what the text is called in messages that concern the whole of it; its ending says whether it
    is TriG, unless ``trig`` does.
    """
    try:
        description, lines = parse_turtle(text, trig=is_trig(name) if trig is None else trig)
    except TurtleError as error:
        return [Finding(error.line, name, error.message)]
    except TooManyStatementsError as error:
        return [Finding(None, name, error.messages[0])]
    return unstorable(description, lines) or check(description, lines)


def unstorable(description: Graph, lines: Lines) -> list[Finding]:
    """Return a finding for each term no store takes: escapes can make IRIs that are none, and NUL."""
    unstorables = set()
    for statement in description:
        for term in statement:
            try:
                if isinstance(term, URIRef | Literal):
                    serialise(term)
            except ValueError as error:
                unstorables.add(Finding(lines.of(*statement), "", str(error)))
    return sorted(unstorables, key=lambda finding: (finding.line or 0, finding.message))


def check(description: Graph, lines: Lines) -> list[Finding]:
    """Return the same of triples that are read already; the graph is used, and left as it was."""
    checked = [
        *(
            Finding(
                lines.of(fault.node, fault.property, fault.value),
                named(fault.node, description),
                fault.message,
            )
            for fault in faults(description)
        ),
        *_broken_shapes(description, lines),
    ]
    return sorted(set(checked), key=lambda finding: (finding.line or 0, finding.node, finding.message))


def refused(findings: list[Finding]) -> bool:
    """Return whether a text with these findings may not be used."""
    return any(finding.severity == "error" for finding in findings)


def _broken_shapes(description: Graph, lines: Lines) -> list[Finding]:
    screen = _screen()
    if screen is not None and screen.passes(Triples(chain(description, vocabulary().graph))):
        return []
    # Shapes look at the vocabulary, too: at what units are for, say. pyshacl itself takes over classes only.
    import pyshacl  # takes a tenth of the start, and few descriptions get here

    judged = bounded_graph()
    for triple in chain(description, vocabulary().graph):
        judged.add(triple)
    try:
        report = pyshacl.validate(judged, shacl_graph=shapes(), inplace=True, allow_warnings=True)[1]
    except RecursionError:
        return [Finding(None, "", "classes stand below too many others: shorten chains of rdfs:subClassOf")]
    return [
        _finding(report, result, description, lines)
        for result in report.objects(report.value(None, RDF.type, SH.ValidationReport), SH.result)
    ]


def _finding(report: Graph, result: Node, description: Graph, lines: Lines) -> Finding:
    node = report.value(result, SH.focusNode)
    path, value = report.value(result, SH.resultPath), report.value(result, SH.value)
    severity = report.value(result, SH.resultSeverity)
    message = "; ".join(sorted(str(message_) for message_ in report.objects(result, SH.resultMessage)))
    got = f" (it has {short(value)})" if isinstance(value, URIRef | Literal) and value != node else ""
    return Finding(
        lines.of(node, path, value),
        named(node, description),
        f"{message}{got}",
        _SEVERITIES.get(URIRef(str(severity)), "error"),
    )


@cache
def _screen() -> Screen | None:
    try:
        return Screen(shapes())
    except UnknownConstraintError as error:
        _log.warning("descriptions are checked the slow way", detail=str(error))
        return None


@cache
def shapes() -> Graph:
    """Return the shapes everything is checked against."""
    return Graph().parse(ontology_directory() / "shapes.ttl")
