"""Placements as people and agents look for them: own ones in memory, those of others in the database."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ses_service.ledger.errors import UnknownPlacementError
from ses_service.ledger.placement import Placement
from ses_service.state.state import ServiceState
from ses_service.store.errors import DatabaseError
from ses_service.store.journal import Journal
from ses_service.store.records import RecordStore

ANY: Mapping[str, str] = MappingProxyType({})


class Placements:
    """Finds placements.  Those of other services are not found while the database does not answer."""

    def __init__(self, state: ServiceState, store: RecordStore | None, journal: Journal | None) -> None:
        self._state = state
        self._store = store if store is not None and store.database.shared else None
        self._journal = journal

    def placement(self, placement_id: str) -> Placement:
        """Return a placement.  Raises UnknownPlacementError."""
        try:
            return self._state.placement(placement_id)
        except UnknownPlacementError:
            for placement in self._stored(lambda store: store.of_ids([placement_id])):
                return placement
            raise

    def listed(
        self,
        accept: Callable[[Placement], bool],
        limit: int,
        exact: Mapping[str, str] = ANY,
        element: str | None = None,
    ) -> list[Placement]:
        """Return the placements that ``accept`` accepts, the latest first.

        ``exact`` are values of columns that all of these have, and ``element`` is one they are on.
        """
        own = self._state.placements(accept, limit, exact.get("user"))
        theirs = self._stored(lambda store: store.of_peers(exact, element, limit))
        if not theirs:
            return own
        by_id = {placement.placement_id: placement for placement in (*filter(accept, theirs), *own)}
        return sorted(
            by_id.values(), key=lambda placement: (placement.placed_at, placement.placement_id), reverse=True
        )[:limit]

    def explained(self, placement: Placement) -> Placement:
        """Return a placement with its explanation, if that is kept anywhere."""
        return placement if self._journal is None else self._journal.explained(placement)

    def _stored(self, ask: Callable[[RecordStore], list[Placement]]) -> list[Placement]:
        if self._store is None or self._journal is None or not self._journal.status.ok:
            return []
        try:
            return ask(self._store)
        except DatabaseError:
            return []
