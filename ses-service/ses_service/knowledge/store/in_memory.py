"""A graph in memory, asked like a store: a file is read with the queries that read the store."""

from rdflib import Dataset, Graph, URIRef
from rdflib.query import ResultRow

from ses_service.knowledge.store.store import Row


class GraphInMemory:
    """A :class:`ses_service.knowledge.store.store.SparqlReader`. Slow: milliseconds a query."""

    def __init__(self, name: URIRef, statements: Graph) -> None:
        """Hold these statements in a graph of this name."""
        self._dataset = Dataset()
        target = self._dataset.graph(name)
        for statement in statements:
            target.add(statement)

    def select(self, query: str, *, patience: float = 1.0) -> list[Row]:  # noqa: ARG002
        """Return the rows a SELECT query gives."""
        rows: list[Row] = []
        for row in self._dataset.query(query):
            assert isinstance(row, ResultRow)
            rows.append({name: str(term) for name, term in row.asdict().items()})
        return rows
