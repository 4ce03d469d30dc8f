"""The placements of other services on the same database, counted beside our own, each file once.

Each service sends what changed with it as a :class:`Notification`.  A node announces its files to one service
at a time.  It numbers its announcements across all services: of two services that both hold a file of a node,
the one with the higher number keeps it.

Not safe for use from several threads; the ledger that owns it is not either.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ses_state import _state

from ses_service.ledger.counts import began
from ses_service.ledger.placement import PeerPlacement
from ses_service.ledger.size_history import SizeKey


@dataclass(slots=True)
class NodeNotification:
    """What a service reports of the files of one node, with the last announcement that it got of the node.

    ``idle`` are open and no streams; ``ended`` were ended by the node, ``lapsed`` by its silence or a lease.
    """

    node: str
    incarnation: str
    number: int
    opened: list[PeerPlacement]
    idle: list[str]
    ended: list[str]
    lapsed: list[str]


@dataclass(slots=True)
class Notification:
    """What a service reports in one transaction: files, and the sizes of those that ended, by their keys."""

    origin: str
    nodes: list[NodeNotification]
    sizes: list[tuple[SizeKey, list[float]]]


class PeerPlacements:
    """The placements of other services.  ``is_own``: our own ledger knows an id better.

    That ledger, ``native``, is given the ids that are here, so that it asks no others.
    """

    def __init__(self, native: _state.Ledger, is_own: Callable[[str], bool]) -> None:
        self._native = native
        self._counter = native.counter
        self._is_own = is_own
        self._placements: dict[str, PeerPlacement] = {}
        self._counted: dict[str, PeerPlacement] = {}
        self.open_on: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._counted)

    def __contains__(self, placement_id: str) -> bool:
        return placement_id in self._placements

    def counted(self) -> Iterable[PeerPlacement]:
        """Return what counts."""
        return self._counted.values()

    def take_up(self, placements: Iterable[PeerPlacement]) -> None:
        """Take up files, or note who carries them now."""
        for placement in placements:
            placement_id = placement.placement_id
            known = self._placements.get(placement_id)
            if known is not None:
                known.origin = placement.origin
                if placement_id in self._counted and known.expected_bytes != placement.expected_bytes:
                    self._counter.count(known.elements, 0, -(known.expected_bytes or 0.0))
                    self._counter.count(known.elements, 0, placement.expected_bytes or 0.0)
                known.expected_bytes = placement.expected_bytes
                continue
            self._placements[placement_id] = placement
            self._native.note_peer(placement_id, True)
            if not self._is_own(placement_id):
                self._counter.placed(placement.elements, placement.placed_at)
                if placement.elements:
                    system = placement.elements[0].partition("/")[0]
                    self._native.recent.count(system, placement.node, placement.placed_at)
                self._begin(placement)

    def drop(self, ids: Iterable[str], origin: str, now: float) -> None:
        """Forget files that ``origin`` does not carry any more, if nobody else took them over."""
        for placement_id in ids:
            known = self._placements.get(placement_id)
            if known is None or known.origin != origin:
                continue
            del self._placements[placement_id]
            self._native.note_peer(placement_id, False)
            if placement_id in self._counted:
                self._end(known, now)

    def forget_placement(self, placement_id: str, now: float) -> None:
        """Forget a file that is this service's: the one that carries it gives it up when it is notified."""
        placement = self._placements.get(placement_id)
        if placement is not None:
            self.drop([placement_id], placement.origin, now)

    def keep(self, placements: Collection[PeerPlacement], now: float) -> None:
        """Take what is stored of all other services in place of what they reported."""
        stored = {placement.placement_id for placement in placements}
        self._drop_where(lambda placement: placement.placement_id not in stored, now)
        self.take_up(placements)

    def forget(self, living: Collection[str], now: float) -> None:
        """Forget what services reported that are gone."""
        self._drop_where(lambda placement: placement.origin not in living, now)

    def settle(self, placement_id: str, now: float) -> None:
        """Count a placement if somebody else carries it and it is not our own, and only then."""
        placement, counted = self._placements.get(placement_id), self._counted.get(placement_id)
        wanted = None if placement is None or self._is_own(placement_id) else placement
        if wanted is counted:
            return
        if counted is not None:
            self._end(counted, now)
        if wanted is not None:
            self._begin(wanted)

    def _begin(self, placement: PeerPlacement) -> None:
        self._counted[placement.placement_id] = placement
        self._counter.begin(
            placement.placement_id, placement.elements, began(placement), placement.expected_bytes
        )
        self.open_on[placement.node] += 1

    def _end(self, placement: PeerPlacement, now: float) -> None:
        del self._counted[placement.placement_id]
        self._counter.end(
            placement.placement_id, placement.elements, began(placement), placement.expected_bytes, now
        )
        self.open_on[placement.node] -= 1
        if not self.open_on[placement.node]:
            del self.open_on[placement.node]

    def _drop_where(self, gone: Callable[[PeerPlacement], bool], now: float) -> None:
        of_origins: dict[str, list[str]] = {}
        for placement in filter(gone, self._placements.values()):
            of_origins.setdefault(placement.origin, []).append(placement.placement_id)
        for origin, ids in of_origins.items():
            self.drop(ids, origin, now)
