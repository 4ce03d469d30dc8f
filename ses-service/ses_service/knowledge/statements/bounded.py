"""A graph in memory for libraries to work on: of bounded size, and not beyond the end of the request.

Texts that come in are parsed into one.
"""

from collections.abc import Generator, Mapping
from typing import Any

import pyoxigraph
from rdflib import RDF, XSD, BNode, Graph
from rdflib.plugins.stores.memory import Memory
from ses_client.turtle import Lines, is_trig, parse_into
from ses_listen import deadline

from ses_service.knowledge.errors import TooManyStatementsError

MAX_STATEMENTS = 400_000
"""Statements of one text: a site of 10,000 elements has half of them, and each takes a kilobyte of memory."""

MAX_LIST_ITEMS = 1_000
"""Items of all lists, ( ... ), of one text: no term of the vocabulary takes any, and a byte can be one."""

MAX_BLANK_NODES = 100_000
"""Values of one text that are blank nodes: three bytes can be one, and a requirement is one."""

MAX_VALUE = 1_000
"""Characters of a value that is no text, as a number: rdflib takes it apart."""

ITEM = RDF.first  # the predicate of each
_ITEM = pyoxigraph.NamedNode(ITEM)
_MARKUP = frozenset({str(RDF.HTML), str(RDF.XMLLiteral)})
_TEXTS = frozenset({str(XSD.string), str(RDF.langString)})


class StatementCount:
    """Counts the statements of one text, and ends with the request."""

    def __init__(self) -> None:
        self._count = self._items = self._blank = 0

    def add(self, *, item: bool, blank: bool) -> None:
        """Count one; ``item``: its predicate is ``ITEM``, ``blank``: its object is a blank node.

        Raises TooManyStatementsError.
        """
        deadline.check()
        self._count += 1
        if self._count > MAX_STATEMENTS:
            raise _too_many(f"more than {MAX_STATEMENTS} statements: import it in parts")
        if item:
            self._items += 1
            if self._items > MAX_LIST_ITEMS:
                raise _too_many(f"lists of more than {MAX_LIST_ITEMS} items: state the values without ( )")
        if blank:
            self._blank += 1
            if self._blank > MAX_BLANK_NODES:
                raise _too_many(f"more than {MAX_BLANK_NODES} blank nodes: import it in parts")


def check_value(text: str, datatype: str) -> None:
    """Raise TooManyStatementsError for a value that rdflib takes long to read."""
    if datatype in _MARKUP:
        raise _too_many(f"a value that is markup ({datatype}): write it as a plain text")
    if len(text) > MAX_VALUE and datatype not in _TEXTS:
        raise _too_many(f"a value of {len(text)} characters that is no text; it can have {MAX_VALUE}")


def _too_many(what: str) -> TooManyStatementsError:
    return TooManyStatementsError("the description", [f"it has {what}"])


def bounded_graph() -> Graph:
    """Return an empty graph.  Adding to it raises TooManyStatementsError."""
    return Graph(BoundedStore())


def parse_turtle(text: str, *, trig: bool = False) -> tuple[Graph, Lines]:
    """Return triples and the lines they stand on. Raises ``TurtleError``, ``TooManyStatementsError``."""
    graph, lines = bounded_graph(), Lines()
    _parse(graph, text, lines, trig)
    return graph, lines


def parse_files(texts: Mapping[str, str]) -> tuple[Graph, Lines]:
    """Return what files by name say, each with blank nodes of its own. Raises like :func:`parse_turtle`."""
    graph, lines = bounded_graph(), Lines()
    for name, text in texts.items():
        lines.source = name if len(texts) > 1 else ""
        _parse(graph, text, lines, is_trig(name))
    return graph, lines


def _parse(graph: Graph, text: str, lines: Lines, trig: bool) -> None:
    count = StatementCount()

    def check(quad: pyoxigraph.Quad) -> None:
        count.add(item=quad.predicate == _ITEM, blank=isinstance(quad.object, pyoxigraph.BlankNode))
        if isinstance(quad.object, pyoxigraph.Literal):
            check_value(quad.object.value, quad.object.datatype.value)

    parse_into(graph, text, lines, trig=trig, check=check, passed_on=(TooManyStatementsError,))


class BoundedStore(Memory):
    """Statements in memory; who adds or asks ends with the request."""

    def __init__(self) -> None:
        super().__init__()
        self._count = StatementCount()

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        """Add a statement."""
        self._count.add(item=triple[1] == ITEM, blank=isinstance(triple[2], BNode))
        super().add(triple, context, quoted)

    def triples(self, triple_pattern: Any, context: Any = None) -> Generator[Any, None, None]:
        """Yield what matches a pattern, in which ``None`` stands for anything."""
        deadline.check()
        return super().triples(triple_pattern, context)
