"""A large Turtle text read several times faster than by rdflib, without the lines its statements stand on.

``pyoxigraph`` reads it. A text it does not take, or that the two readers may take differently, is left to
:func:`ses_service.knowledge.statements.bounded.parse_turtle`, which says what is wrong with it and where.
"""

import re

import pyoxigraph
import structlog
from rdflib import XSD, BNode, Graph, Literal, URIRef
from ses_client.turtle import BASE, normalised

from ses_service.knowledge.queries import Term
from ses_service.knowledge.statements.bounded import ITEM, StatementCount, check_value
from ses_service.knowledge.statements.read_only import read_only_graph
from ses_service.knowledge.statements.triples import Triple

SHORT = 20_000
"""Characters of a text that rdflib reads in no time."""

_STEPS = re.compile(r"\.\.?[/>?#]")  # relative names with steps, which the readers resolve differently
_log = structlog.get_logger(__name__)


def read_quickly(*texts: str) -> Graph | None:
    """Return the triples of Turtle texts, each with its own blank nodes, as a graph that cannot be changed.

    ``None`` for texts that are short, malformed or unusual.  Raises ``TooManyStatementsError``.
    """
    if sum(map(len, texts)) < SHORT or any(map(_STEPS.search, texts)):
        return None
    triples, count = list[Triple](), StatementCount()
    try:
        for terms, text in ((_Terms(), text) for text in texts):
            encoded = normalised(text).encode()
            for quad in pyoxigraph.parse(encoded, format=pyoxigraph.RdfFormat.TURTLE, base_iri=BASE):
                subject, value = terms.of(quad.subject), terms.of(quad.object)
                predicate = terms.of(quad.predicate)
                if isinstance(subject, Literal) or not isinstance(predicate, URIRef):
                    return None
                count.add(item=predicate == ITEM, blank=isinstance(value, BNode))
                triples.append((subject, predicate, value))
    except (SyntaxError, ValueError) as error:
        _log.info("a description is read the slow way", detail=str(error)[:200])
        return None
    return read_only_graph(triples)


class _Terms:
    """The terms of one text, each made once. Raises ``ValueError`` for what rdflib does not have."""

    def __init__(self) -> None:
        self._known: dict[object, Term] = {}
        self._blank = BNode()

    def of(self, term: object) -> Term:
        """Return a term as rdflib has it."""
        known = self._known.get(term)
        if known is None:
            known = self._known[term] = self._made(term)
        return known

    def _made(self, term: object) -> Term:
        if isinstance(term, pyoxigraph.NamedNode):
            return URIRef(term.value)
        if isinstance(term, pyoxigraph.BlankNode):
            return BNode(f"{self._blank}x{len(self._known)}")  # a random name for each takes most of the time
        if isinstance(term, pyoxigraph.Literal) and term.direction is None:
            check_value(term.value, term.datatype.value)
            datatype = None if term.language else URIRef(term.datatype.value)
            datatype = None if datatype == XSD.string else datatype
            return Literal(term.value, lang=term.language, datatype=datatype)
        raise ValueError(f"neither IRI nor blank node nor literal: {term}")
