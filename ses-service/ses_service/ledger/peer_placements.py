"""The placements of other services on the same database, counted beside our own, each file once.

Each service sends what changed with it as a :class:`Notification`.  A node announces its files to one service
at a time.  It numbers its announcements across all services: of two services that both hold a file of a node,
the one with the higher number keeps it.

Not safe for use from several threads; the ledger that owns it is not either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ses_service.ledger.arrivals import SystemArrivals
from ses_service.ledger.counts import ElementCounter
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
    """The placements of other services.  ``is_own``: our own ledger knows an id better."""

    def __init__(
        self, counter: ElementCounter, is_own: Callable[[str], bool], arrivals: SystemArrivals
    ) -> None:
        self._counter = counter
        self._arrivals = arrivals
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
        unknown = []
        for placement in placements:
            known = self._placements.get(placement.placement_id)
            if known is None:
                self._placements[placement.placement_id] = placement
                unknown.append(placement)
            else:
                known.origin = placement.origin
                if placement.placement_id in self._counted:
                    self._counter.claim(known, placement)
                known.expected_bytes = placement.expected_bytes
        begun = [placement for placement in unknown if not self._is_own(placement.placement_id)]
        if not begun:
            return
        self._counter.placed_all(begun)
        self._arrivals.count_all(
            [
                (placement.elements[0].partition("/")[0], placement.node, placement.placed_at)
                for placement in begun
            ]
        )
        self._counted.update((placement.placement_id, placement) for placement in begun)
        self._counter.begin_all(begun)
        self.open_on.update([placement.node for placement in begun])

    def drop(self, ids: Iterable[str], origin: str, now: float) -> None:
        """Forget files that ``origin`` does not carry any more, if nobody else took them over."""
        ended = []
        for placement_id in ids:
            known = self._placements.get(placement_id)
            if known is None or known.origin != origin:
                continue
            del self._placements[placement_id]
            if self._counted.pop(placement_id, None) is not None:
                ended.append(known)
        if ended:
            self._counter.end_all(ended, now)
            for node, number in Counter([placement.node for placement in ended]).items():
                self._leave(node, number)

    def forget_placement(self, placement_id: str, now: float) -> None:
        """Forget a file that is this service's: the one that carries it gives it up when it is notified."""
        placement = self._placements.get(placement_id)
        if placement is not None:
            self.drop([placement_id], placement.origin, now)

    def keep(self, placements: Collection[PeerPlacement], now: float) -> None:
        """Take what is stored of all other services in place of what they reported."""
        stored = {placement.placement_id for placement in placements}
        self._drop_where(lambda one: one.placement_id not in stored, now)
        self.take_up(placements)

    def forget(self, living: Collection[str], now: float) -> None:
        """Forget what services reported that are gone."""
        self._drop_where(lambda one: one.origin not in living, now)

    def settle(self, placement_id: str, now: float) -> None:
        """Count a placement if somebody else carries it and it is not our own, and only then."""
        placement, counted = self._placements.get(placement_id), self._counted.get(placement_id)
        wanted = None if placement is None or self._is_own(placement_id) else placement
        if wanted is counted:
            return
        if counted is not None:
            del self._counted[placement_id]
            self._counter.end(counted, now)
            self._leave(counted.node, 1)
        if wanted is not None:
            self._counted[placement_id] = wanted
            self._counter.begin(wanted)
            self.open_on[wanted.node] += 1

    def _drop_where(self, gone: Callable[[PeerPlacement], bool], now: float) -> None:
        of_origins: dict[str, list[str]] = {}
        for placement in filter(gone, self._placements.values()):
            of_origins.setdefault(placement.origin, []).append(placement.placement_id)
        for origin, ids in of_origins.items():
            self.drop(ids, origin, now)

    def _leave(self, node: str, number: int) -> None:
        self.open_on[node] -= number
        if not self.open_on[node]:
            del self.open_on[node]
