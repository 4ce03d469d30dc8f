"""A SPARQL store in this process, for a handful of statements."""

from rdflib import URIRef
from ses_service.knowledge.store.in_memory import GraphInMemory


class FakeStore(GraphInMemory):
    """Queries and updates by rdflib."""

    def update(self, update: str, *, patience: float = 1.0) -> None:
        """Apply an update request."""
        del patience
        self._dataset.update(update)

    def put_graph(self, graph: str, turtle: str) -> None:
        """Replace a named graph."""
        target = self._dataset.graph(URIRef(graph))
        target.remove((None, None, None))
        target.parse(data=turtle, format="turtle")
