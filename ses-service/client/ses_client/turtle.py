"""Turtle and TriG read so that every statement can be found again in its text; needs rdflib and pyoxigraph.

rdflib reports no lines; its parser counts them, for its own messages. Here each predicate carries the line it
stands on from where it is parsed to where its statement is stored. Does not check what the statements say.
As rdflib takes long over some texts that are no Turtle, and reads others as if they were, it gets those only
that ``pyoxigraph`` has read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableSequence
from pathlib import PurePath
from typing import Any

import pyoxigraph
from rdflib import Graph, URIRef
from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser
from rdflib.plugins.parsers.trig import TrigSinkParser
from rdflib.term import Identifier, Node

from ses_client.text_files import plain

NAMESPACE = "https://w3id.org/qstorman/"
BASE = f"{NAMESPACE}site/"
TOO_DEEP = "lists or blank nodes stand too deep in others: give them names"
NOTHING = "it says nothing: there is no statement in it"
_SPELLINGS_OF_QUDT = {
    "http://qudt.org/schema/qudt#": "http://qudt.org/schema/qudt/",
    "http://qudt.org/vocab/unit#": "http://qudt.org/vocab/unit/",
    "https://qudt.org/": "http://qudt.org/",
}
_NOT_READ = {
    ".jsonld": "JSON-LD", ".json": "JSON-LD", ".rdf": "RDF/XML", ".xml": "RDF/XML", ".owl": "RDF/XML",
    ".n3": "Notation3", ".nq": "N-Quads",
}  # fmt: skip

# Of a value that cannot be, findings say so with its line; rdflib logs a traceback, each time it looks.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)


def normalised(text: str) -> str:
    """Return a text as it is parsed: plain, with one spelling of the names of QUDT."""
    text = plain(text)
    for other, usual in _SPELLINGS_OF_QUDT.items():
        text = text.replace(other, usual)
    return text


def is_trig(name: str) -> bool:
    """Return whether a file is TriG, by its ending; else it is Turtle, of which N-Triples is a part.

    Raises ``TurtleError`` for the endings of other formats.
    """
    ending = PurePath(name).suffix.lower()
    if ending in _NOT_READ:
        raise TurtleError(
            None, f"{_NOT_READ[ending]} is not read; rdfpipe of rdflib makes Turtle of it: "
            f"rdfpipe -o turtle {PurePath(name).name} > {PurePath(name).stem}.ttl"
        )  # fmt: skip
    return ending == ".trig"


class TurtleError(ValueError):
    """The text cannot be read. ``line`` counts from 1; ``None`` where the parser does not say."""

    def __init__(self, line: Line | None, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(message if line is None else f"{line.in_words()}: {message}")


class Line(int):
    """A line, counted from 1; ``source`` is the file it is of, empty where there is one only."""

    source = ""

    def in_words(self) -> str:
        """Return it as ``line 7``, with its file in front where there are several."""
        return f"{self.source}, line {self}" if self.source else f"line {self}"


class Lines:
    """On which line each node, property and value is first mentioned.

    ``source`` names the file of what is noted next; needed where there are several.
    """

    def __init__(self) -> None:
        self.source = ""
        self._line_of: dict[tuple[Node | None, ...], Line] = {}

    def at(self, number: int) -> Line:
        """Return a line of the text that is read."""
        line = Line(number)
        line.source = self.source
        return line

    def note(self, subject: Node, predicate: Node, value: Node, line: int) -> None:
        """Remember where a statement stands."""
        here = self.at(line)
        for key in ((subject,), (subject, predicate), (subject, predicate, value)):
            self._line_of.setdefault(key, here)

    def of(
        self, subject: Node | None, predicate: Node | None = None, value: Node | None = None
    ) -> Line | None:
        """Return the line of the statement, else of the property, else of the node, else ``None``."""
        for key in ((subject, predicate, value), (subject, predicate), (subject,)):
            if key in self._line_of:
                return self._line_of[key]
        return None


def parse_into(
    graph: Graph,
    text: str,
    lines: Lines,
    *,
    trig: bool = False,
    check: Callable[[pyoxigraph.Quad], None] = lambda _: None,
    passed_on: tuple[type[Exception], ...] = (),
) -> None:
    """Add the triples of a text to a graph, of whatever graph of a TriG text they are.

    Blank nodes are the text's own. Each statement is shown to ``check`` before. Raises ``TurtleError``, and
    ``passed_on``: what checking and filling the graph raise.
    """
    text, language = normalised(text), "TriG" if trig else "Turtle"
    try:
        # Lenient: names are checked later, with a sentence of their own.
        format_ = pyoxigraph.RdfFormat.TRIG if trig else pyoxigraph.RdfFormat.TURTLE
        for quad in pyoxigraph.parse(text.encode(), format=format_, base_iri=BASE, lenient=True):
            check(quad)
    except SyntaxError as error:
        message = str(error.msg).partition(": ")[2]
        raise TurtleError(lines.at(error.lineno or 1), f"not {language}: {message}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise TurtleError(lines.at(line), f"not {language}: half a surrogate pair") from None
    parser = (_TrigParser if trig else _Parser)(_Sink(graph, lines), baseURI=BASE, turtle=True)
    try:
        parser.loadBuf(text)
    except BadSyntax as error:
        raise TurtleError(lines.at(error.lines + 1), f"not {language}: {error._why}") from None
    except passed_on:
        raise
    except RecursionError:
        raise TurtleError(lines.at(parser.lines + 1), TOO_DEEP) from None
    except Exception as error:
        # The parser lets AssertionError, ValueError and IndexError out on some malformed texts.
        raise TurtleError(lines.at(parser.lines + 1), f"not {language}: {error}") from None
    for prefix, namespace in parser._bindings.items():
        graph.bind(prefix, namespace)


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


class _TrigParser(_Parser, TrigSinkParser):
    pass


class _Sink(RDFSink):
    def __init__(self, graph: Graph, lines: Lines) -> None:
        super().__init__(graph)
        self._lines = lines

    def newGraph(self, identifier: Identifier) -> Graph:  # noqa: ARG002
        return self.graph

    def makeStatement(self, quadruple: tuple[Any, Node, Node, Node], why: Any = None) -> None:
        formula, predicate, subject, value = quadruple
        if not isinstance(predicate, _At):
            super().makeStatement(quadruple, why)
            return
        plain = URIRef(str(predicate))
        super().makeStatement((formula, plain, subject, value), why)
        terms = self.normalise(formula, subject), plain, self.normalise(formula, value)
        self._lines.note(*terms, predicate.line)
