"""Updates that are sent again when their answer was lost, until it is known that they were applied."""

import time
from collections.abc import Callable
from typing import TypeVar

from ses_service.knowledge.errors import AnswerLostError, StoreUnavailableError
from ses_service.knowledge.store.store import Row, SparqlStore, TermRow

_SECONDS = 3.0
_FIRST_PAUSE = 0.05
Answer = TypeVar("Answer")


class RetryingStore:
    """A store for updates that do nothing the second time.

    Such an update holds the identity of its change and the revision it follows: applied once, its
    condition is false.  So a store that was restarted between request and answer is asked again, for
    three seconds; what was done before its answer was lost is then found out and not doubled.  A store
    that hangs is not asked again: one time-out is long enough to wait.

    For one change: once it may have been applied, every failure is an ``AnswerLostError``, that of reading it
    back as well.  Any other ``StoreUnavailableError`` says that nothing was changed.
    """

    def __init__(self, store: SparqlStore) -> None:
        self._store = store
        self._changed = False

    def select(self, query: str, *, patience: float = 1.0) -> list[Row]:
        """Return the rows a SELECT query gives; may take ``patience`` times as long as usual."""
        return self._retried(lambda: self._store.select(query, patience=patience))

    def select_terms(self, query: str, *, patience: float = 1.0) -> list[TermRow]:
        """Return the rows a SELECT query gives, with IRIs, literals and blank nodes distinguished."""
        return self._retried(lambda: self._store.select_terms(query, patience=patience))

    def put_graph(self, graph: str, turtle: str) -> None:
        """Replace a named graph."""
        self._retried(lambda: self._store.put_graph(graph, turtle))

    def update(self, update: str, *, patience: float = 1.0) -> None:
        """Apply an update request; as a whole or not at all, and once."""
        self._retried(lambda: self._store.update(update, patience=patience))
        self._changed = True

    def _retried(self, ask: Callable[[], Answer]) -> Answer:
        deadline = time.monotonic() + _SECONDS
        pause = _FIRST_PAUSE
        while True:
            try:
                return ask()
            except StoreUnavailableError as error:
                self._changed = self._changed or isinstance(error, AnswerLostError)
                if time.monotonic() + pause > deadline:
                    if self._changed and not isinstance(error, AnswerLostError):
                        raise AnswerLostError(str(error)) from None
                    raise
                time.sleep(pause)
                pause *= 2
