"""Edits: what is stated about a subject before and after, and the requests that write the difference."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from rdflib import URIRef

from ses_service.knowledge.queries import Statement, bind
from ses_service.knowledge.statements.statements import Description, Facts, Value, statements
from ses_service.knowledge.terms import HISTORY_GRAPH

_AT_ONCE = 100
"""Subjects removed by one part of a request: a store limits the time of each part."""


@dataclass(frozen=True, slots=True)
class Adding:
    """Statements to be added to a graph, once a change is begun."""

    graph: URIRef
    statements: list[Statement]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one subject of a graph. No facts: there is no such subject.

    ``remove`` are the subjects whose statements go, ``add`` the statements that come: more than the facts say
    where the service keeps records.
    """

    graph: URIRef
    subject: URIRef
    before: Facts
    after: Facts
    remove: tuple[URIRef, ...] = ()
    add: tuple[Statement, ...] = field(default=(), repr=False)

    @property
    def status(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        return "changed" if self.before and self.after else "added" if self.after else "removed"

    def properties(self) -> Iterator[tuple[URIRef, frozenset[Value], frozenset[Value]]]:
        """Yield each property that differs, with its values on one side only: gone, and come."""
        for property_ in sorted(self.before.keys() | self.after.keys()):
            old, new = self.before.get(property_, frozenset()), self.after.get(property_, frozenset())
            if old != new:
                yield property_, old - new, new - old


def differences(graph: URIRef, before: Description, after: Description) -> list[Edit]:
    """Return one edit for each subject that differs, in order.

    Each removes what it adds before it adds it, so that a request sent twice leaves what it leaves once.
    """
    labels = count(1)
    edits = []
    for subject in sorted(before.keys() | after.keys()):
        old, new = before.get(subject, {}), after.get(subject, {})
        if old != new:
            add = tuple(statements(subject, new, labels))
            edits.append(Edit(graph, subject, old, new, (subject,), add))
    return edits


def request_parts(edits: Iterable[Edit], change: URIRef) -> list[str | Adding]:
    """Return the update requests that make these edits, once the change is begun."""
    parts: list[str | Adding] = []
    by_graph: dict[URIRef, list[Edit]] = {}
    for edit in edits:
        by_graph.setdefault(edit.graph, []).append(edit)
    for graph, own in by_graph.items():
        gone = [subject for edit in own for subject in edit.remove]
        come = [statement for edit in own for statement in edit.add]
        parts += [_removing(graph, gone[at : at + _AT_ONCE], change) for at in range(0, len(gone), _AT_ONCE)]
        if come:
            parts.append(Adding(graph, come))
    return parts


def _removing(graph: URIRef, gone: list[URIRef], change: URIRef) -> str:
    return bind("remove-descriptions.ru", graph=graph, subjects=gone, history=HISTORY_GRAPH, change=change)


def adding(adding: Adding, change: URIRef) -> str:
    """Return the update request that adds statements, once the change is begun."""
    return bind(
        "add-statements.ru",
        graph=adding.graph,
        statements=adding.statements,
        history=HISTORY_GRAPH,
        change=change,
    )
