"""A SPARQL store in this process, for a handful of statements."""

from rdflib import Graph, URIRef
from ses_service.knowledge.store.in_memory import GraphInMemory
from ses_service.knowledge.store.store import TermRow


class FakeStore(GraphInMemory):
    """Queries and updates by rdflib."""

    def __init__(self) -> None:
        super().__init__(URIRef("urn:empty"), Graph())

    def select_terms(self, query: str, *, patience: float = 1.0) -> list[TermRow]:
        """Return the rows a SELECT query gives, as terms."""
        del patience
        return [row.asdict() for row in self._dataset.query(query)]

    def update(self, update: str, *, patience: float = 1.0) -> None:
        """Apply an update request."""
        del patience
        self._dataset.update(update)

    def put_graph(self, graph: str, turtle: str) -> None:
        """Replace a named graph."""
        target = self._dataset.graph(URIRef(graph))
        target.remove((None, None, None))
        target.parse(data=turtle, format="turtle")
