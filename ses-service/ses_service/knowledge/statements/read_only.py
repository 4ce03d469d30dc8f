"""Triples that are read once and only asked for afterwards, as a store of rdflib.

rdflib's own stores keep three nested indexes up to date with each triple, which takes longer than reading the
text. Here an index is made when it is first needed. Nothing can be added or removed.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rdflib import Graph
from rdflib.store import Store
from rdflib.term import Node

from ses_service.knowledge.statements.triples import Triple

_INDEXED = (0, 2, 1)  # subject, object, property: the first that is given is likely to leave fewest


def read_only_graph(triples: Iterable[Triple]) -> Graph:
    """Return a graph of these triples that cannot be changed."""
    return Graph(_Triples(triples), bind_namespaces="none")


class _Triples(Store):
    def __init__(self, triples: Iterable[Triple]) -> None:
        super().__init__()
        self._all = dict.fromkeys(triples)
        self._indexes: dict[int, dict[Node | None, list[Triple]]] = {}

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[tuple[Triple, Iterator[Graph]]]:  # noqa: ARG002
        """Yield what matches a pattern, in which ``None`` stands for anything."""
        for triple in self._matching(triple_pattern):
            yield triple, iter(())

    def __len__(self, context: Any = None) -> int:
        """Return how many there are."""
        return len(self._all)

    def _matching(self, pattern: tuple[Node | None, Node | None, Node | None]) -> Iterable[Triple]:
        given = [place for place in _INDEXED if pattern[place] is not None]
        if not given:
            return self._all
        triples = self._index(given[0]).get(pattern[given[0]], ())
        return [triple for triple in triples if all(triple[place] == pattern[place] for place in given[1:])]

    def _index(self, place: int) -> dict[Node | None, list[Triple]]:
        index = self._indexes.get(place)
        if index is None:
            index = self._indexes[place] = {}
            for triple in self._all:
                index.setdefault(triple[place], []).append(triple)
        return index
