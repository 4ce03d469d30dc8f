"""Turtle read so that every statement can be found again in its text.

rdflib tells no lines; its parser counts them, for its own messages. Here each predicate carries the line it
stands on from where it is parsed to where its statement is stored. Does not check what the statements say.
As rdflib takes long over some texts that are no Turtle, and reads others as if they were, it gets those only
that ``pyoxigraph`` has read.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

import pyoxigraph
from rdflib import Graph, URIRef
from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser
from rdflib.term import Node

from ses_service.knowledge.errors import TooManyStatementsError
from ses_service.knowledge.statements.bounded import ITEM, StatementCount, bounded_graph, check_value

PRESENT = "https://w3id.org/qstorman/"
FORMER = "https://example.org/qstorman/"
BASE = f"{PRESENT}site/"
TOO_DEEP = "lists or blank nodes stand too deep in others: give them names"
_ITEM = pyoxigraph.NamedNode(ITEM)


def present_names(text: str) -> str:
    """Return a text with names of the vocabulary as they were formerly written changed to today's."""
    return text.replace(FORMER, PRESENT)


class TurtleError(ValueError):
    """The text is not Turtle. ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(f"line {line}: {message}")


class Lines:
    """On which line each node, property and value of a text is first spoken of."""

    def __init__(self) -> None:
        self._found: dict[tuple[Node | None, ...], int] = {}

    def note(self, subject: Node, predicate: Node, value: Node, line: int) -> None:
        """Remember where a statement stands."""
        for key in ((subject,), (subject, predicate), (subject, predicate, value)):
            self._found.setdefault(key, line)

    def of(
        self, subject: Node | None, predicate: Node | None = None, value: Node | None = None
    ) -> int | None:
        """Return the line of the statement, else of the property, else of the node, else ``None``."""
        for key in ((subject, predicate, value), (subject, predicate), (subject,)):
            if key in self._found:
                return self._found[key]
        return None


def parse_turtle(text: str) -> tuple[Graph, Lines]:
    """Return triples and the lines they stand on. Raises ``TurtleError``, ``TooManyStatementsError``."""
    text = present_names(text)
    check_syntax(text)
    graph, lines = bounded_graph(), Lines()
    parser = _Parser(_Sink(graph, lines), baseURI=BASE, turtle=True)
    try:
        parser.loadBuf(text)
    except BadSyntax as error:
        raise TurtleError(error.lines + 1, f"not Turtle: {error._why}") from None
    except TooManyStatementsError:
        raise
    except RecursionError:
        raise TurtleError(parser.lines + 1, TOO_DEEP) from None
    except Exception as error:
        # The parser lets AssertionError, ValueError and IndexError out on some malformed texts.
        raise TurtleError(parser.lines + 1, f"not Turtle: {error}") from None
    for prefix, namespace in parser._bindings.items():
        graph.bind(prefix, namespace)
    return graph, lines


def check_syntax(text: str, format_: pyoxigraph.RdfFormat = pyoxigraph.RdfFormat.TURTLE) -> None:
    """Raise ``TurtleError`` for the first fault, ``TooManyStatementsError``."""
    count = StatementCount()
    try:
        # Lenient: names are checked later, with a sentence of their own.
        for quad in pyoxigraph.parse(text.encode(), format=format_, base_iri=BASE, lenient=True):
            count.add(item=quad.predicate == _ITEM)
            if isinstance(quad.object, pyoxigraph.Literal):
                check_value(quad.object.value, quad.object.datatype.value)
    except SyntaxError as error:
        message = str(error.msg).partition(": ")[2]
        raise TurtleError(error.lineno or 1, f"not {format_.name}: {message}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise TurtleError(line, f"not {format_.name}: half a surrogate pair") from None


class _At(URIRef):
    """A predicate that knows the line it stands on; replaced by a plain one before it is stored."""

    line: int


class _Parser(SinkParser):
    def verb(self, argstr: str, i: int, res: MutableSequence[Any]) -> int:
        end: int = super().verb(argstr, i, res)
        if end >= 0 and res:
            direction, predicate = res[-1]
            # The parser writes the keyword "a" as a pair.
            marked = _At(predicate[1] if isinstance(predicate, tuple) else predicate)
            marked.line = self.lines + 1
            res[-1] = (direction, marked)
        return end


class _Sink(RDFSink):
    def __init__(self, graph: Graph, lines: Lines) -> None:
        super().__init__(graph)
        self._lines = lines

    def makeStatement(self, quadruple: tuple[Any, Node, Node, Node], why: Any = None) -> None:
        formula, predicate, subject, value = quadruple
        if not isinstance(predicate, _At):
            super().makeStatement(quadruple, why)
            return
        plain = URIRef(str(predicate))
        super().makeStatement((formula, plain, subject, value), why)
        terms = self.normalise(formula, subject), plain, self.normalise(formula, value)
        self._lines.note(*terms, predicate.line)
