"""A graph in memory for libraries to work on: of bounded size, and not beyond the end of the request."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rdflib import Graph
from rdflib.plugins.stores.memory import Memory
from ses_listen import deadline

from ses_service.knowledge.errors import TooManyStatementsError

MAX_STATEMENTS = 400_000
"""Statements of one text: a site of 10,000 elements has half of them, and each takes a kilobyte of memory."""


def too_many() -> TooManyStatementsError:
    """Return the error of a text of more statements."""
    message = f"it has more than {MAX_STATEMENTS} statements: import it in parts"
    return TooManyStatementsError("the description", [message])


def bounded_graph() -> Graph:
    """Return an empty graph.  Adding to it raises TooManyStatementsError."""
    return Graph(BoundedStore())


class BoundedStore(Memory):
    """Statements in memory; who adds or asks ends with the request."""

    _count = 0

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        """Add a statement."""
        deadline.check()
        self._count += 1
        if self._count > MAX_STATEMENTS:
            raise too_many()
        super().add(triple, context, quoted)

    def triples(self, triple_pattern: Any, context: Any = None) -> Generator[Any, None, None]:
        """Yield what matches a pattern, in which ``None`` stands for anything."""
        deadline.check()
        return super().triples(triple_pattern, context)
