"""A graph in memory, asked like a store: a file is read with the queries that read the store."""

from __future__ import annotations

from rdflib import BNode, Dataset, Graph, Literal, URIRef
from rdflib.query import ResultRow

from ses_service.knowledge.store.store import Row, TermRow


class GraphInMemory:
    """A :class:`ses_service.knowledge.store.store.SparqlReader`. Slow: milliseconds a query."""

    def __init__(self) -> None:
        self._dataset = Dataset()

    @classmethod
    def of(cls, name: URIRef, statements: Graph) -> GraphInMemory:
        """Return one that holds these statements in a graph of this name."""
        graph = cls()
        target = graph._dataset.graph(name)
        for statement in statements:
            target.add(statement)
        return graph

    def select(self, query: str, *, patience: float = 1.0) -> list[Row]:
        """Return the rows a SELECT query gives."""
        rows = self.select_terms(query, patience=patience)
        return [{name: str(term) for name, term in row.items()} for row in rows]

    def select_terms(self, query: str, *, patience: float = 1.0) -> list[TermRow]:
        """Return the rows a SELECT query gives, as terms."""
        del patience
        rows: list[TermRow] = []
        for row in self._dataset.query(query):
            assert isinstance(row, ResultRow)
            terms = row.asdict()
            rows.append(
                {name: term for name, term in terms.items() if isinstance(term, URIRef | BNode | Literal)}
            )
        return rows
