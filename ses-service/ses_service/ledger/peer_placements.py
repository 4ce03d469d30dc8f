"""What other services carry on the same elements, so that several deciders do not all choose the same.

Each says what begins and ends with it; here it is counted as if it were our own, and dies with the
silence of who said it.  A file is counted once, however many services speak of it: a node that goes over
to another service announces its open files there, and the first one holds them until it misses the node.
Not safe for use from several threads; the ledger that owns it is not either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from ses_service.ledger.arrivals import SystemArrivals
from ses_service.ledger.counts import ElementCounter
from ses_service.ledger.placement import Placement
from ses_service.model.entities import Element, Subject

_FORGOTTEN = -2  # the number of a message after which none can follow


@dataclass(frozen=True, slots=True)
class Change:
    """How a placement of another service stands.  Without elements it has ended."""

    placement_id: str
    elements: tuple[str, ...]
    booked_at: float
    node: str | None = None
    expected_bytes: float | None = None


@dataclass(slots=True)
class Peer:
    """Another service: which of its messages was the last, and until when its word counts."""

    sequence: int
    until: float
    held: set[str] = field(default_factory=set)


class PeerPlacements:
    """The placements of other services.  ``is_own`` tells which ids our own ledger knows better."""

    def __init__(
        self, counter: ElementCounter, is_own: Callable[[str], bool], arrivals: SystemArrivals | None = None
    ) -> None:
        self._counter = counter
        self._arrivals = arrivals or SystemArrivals()
        self._is_own = is_own
        self._peers: dict[str, Peer] = {}
        self._said: dict[str, dict[str, Placement]] = {}
        self._counted: dict[str, Placement] = {}
        self._now = 0.0

    def __len__(self) -> int:
        return len(self._counted)

    @property
    def peers(self) -> int:
        """How many other services are heard of."""
        return len(self._peers)

    def counted(self) -> Iterable[Placement]:
        """Return the placements that count."""
        return self._counted.values()

    def take(
        self, origin: str, sequence: int, *, full: bool, changes: Collection[Change], now: float, until: float
    ) -> bool:
        """Take what the service ``origin`` says in its message number ``sequence``.

        ``full``: forget what it said before.  Its word counts until ``until``.  Returns whether it was
        taken: not when a message before it is missing, for then everything must be said again.
        """
        self._now = now
        peer = self._peers.get(origin)
        if full:
            if peer is not None:
                self._forget(origin)
            peer = self._peers[origin] = Peer(sequence, until)
        elif peer is None or sequence > peer.sequence + 1:
            return False
        elif sequence <= peer.sequence:
            peer.until = until
            return True  # said again, since our answer was lost
        peer.sequence, peer.until = sequence, until
        for change in changes:
            self._take(origin, peer, change)
        return True

    def expire(self, now: float, most: int | None = None) -> None:
        """Forget what services said that are silent: with ``most``, so many placements of each."""
        self._now = now
        for origin in [name for name, peer in self._peers.items() if peer.until <= now]:
            self._peers[origin].sequence = _FORGOTTEN
            self._forget(origin, most)

    def settle(self, placement_id: str) -> None:
        """Count a placement if somebody else carries it and it is not our own, and only then."""
        said = self._said.get(placement_id)
        if said is None and placement_id not in self._counted:
            return
        wanted = None if not said or self._is_own(placement_id) else next(iter(said.values()))
        counted = self._counted.get(placement_id)
        if wanted is counted:
            return
        if counted is not None:
            del self._counted[placement_id]
            self._counter.end(counted, self._now)
        if wanted is not None:
            self._counted[placement_id] = wanted
            self._counter.begin(wanted)

    def _take(self, origin: str, peer: Peer, change: Change) -> None:
        said = self._said.setdefault(change.placement_id, {})
        known = origin in said
        if change.elements and not known:
            said[origin] = placement = self._placement(change)
            peer.held.add(change.placement_id)
            if len(said) == 1:
                self._counter.booked(placement)
                system = placement.element.id.partition("/")[0]
                self._arrivals.count(system, change.node, placement.booked_at)
        elif known and not change.elements:
            del said[origin]
            peer.held.discard(change.placement_id)
        self.settle(change.placement_id)
        if not said:
            del self._said[change.placement_id]

    def _forget(self, origin: str, most: int | None = None) -> None:
        held = self._peers[origin].held
        for placement_id in list(islice(held, most)):
            held.discard(placement_id)
            said = self._said[placement_id]
            del said[origin]
            self.settle(placement_id)
            if not said:
                del self._said[placement_id]
        if not held:
            del self._peers[origin]

    def _placement(self, change: Change) -> Placement:
        stripes = tuple(Element(name, "", name, "", "", "") for name in change.elements)
        booked_at = min(change.booked_at, self._now)
        return Placement(
            placement_id=change.placement_id,
            subject=Subject("", node=change.node),
            element=stripes[0],
            backend="",
            distance=0.0,
            booked_at=booked_at,
            lease_until=booked_at,
            stripes=stripes,
            stripe_count=len(stripes),
            expected_bytes=change.expected_bytes,
        )
