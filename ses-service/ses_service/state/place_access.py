"""Places in the ledger: given out in one step with the choice, renewed, and ended.

Shares the state's lock, and holds it for short moments only.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from ses_service.decision.question import Decision, Question
from ses_service.ledger import places
from ses_service.ledger.errors import NotYoursError, PlacementEndedError
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import MAY_RETURN, Candidate, EndReason, Placement, PlacementState
from ses_service.ledger.places import PlaceAsked, TooManyPlacesError
from ses_service.model.entities import Subject


class NothingFitsError(Exception):
    """No element can take the place; ``decision`` says why of each."""

    def __init__(self, decision: Decision) -> None:
        super().__init__("no directory fits")
        self.decision = decision


class PlaceAccess:
    """What is done with places.  All methods may be called from any thread."""

    def __init__(self, lock: threading.Lock, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._lock = lock
        self._ledger = ledger
        self._clock = clock

    def renew(self, stored: Placement, written: float | None) -> Placement:
        """Let a place count for some time more, and note how much is written there, if that is known.

        ``stored`` is how it is known of: of one that another service carried, this one takes it over.  One
        that ended since nobody renewed it goes on.  Raises PlacementEndedError after any other end.
        """
        with self._lock:
            place = self._own(stored)
            if written is not None:
                place = places.written(place, written)
            return _renewed(place, self._ledger, self._clock())

    def end(self, stored: Placement, written: float | None) -> Placement:
        """End a place.  Again, that changes nothing."""
        with self._lock:
            place = self._own(stored)
            if written is None and place.held is not None:
                written = place.held.written
            return self._ledger.end(place.placement_id, EndReason.CLOSED, self._clock(), written)

    def is_of_peers(self, placement_id: str) -> bool:
        """Whether another service carries a placement."""
        with self._lock:
            return placement_id in self._ledger.of_peers

    def node_reports(self, node: str | None) -> bool:
        """Whether the agent of a node announces to this service."""
        with self._lock:
            return node is not None and self._ledger.nodes.has_announced(node)

    def _own(self, stored: Placement) -> Placement:
        known = self._ledger.find(stored.placement_id)
        if known is None:
            self._ledger.restore(stored)
            known = self._ledger.get(stored.placement_id)
        return known


def entered(
    asked: PlaceAsked, most: int, ledger: Ledger, question: Question, decision: Decision
) -> Placement:
    """Enter the best element of a decision into a ledger, as a place; a user may have ``most`` of them.

    Asked again under the same id, it gives what it gave before.  Raises NothingFitsError, TooManyPlacesError,
    PlacementEndedError where that was released, and NotYoursError for an id that another user has.
    """
    user, before = question.subject.user, ledger.find(asked.placement_id)
    if before is not None:
        if before.held is None or before.subject.user != user:
            raise NotYoursError(f"placement {asked.placement_id} is another one")
        return _renewed(before, ledger, decision.decided_at)
    if ledger.places_of_user(user) >= most:
        raise TooManyPlacesError(f"{user} has {most} places, as many as one may")
    chosen = _best(decision)
    if chosen is None:
        raise NothingFitsError(decision)
    ledger.restore(_place(asked, question.subject, decision, chosen, ledger))
    ledger.doubt(asked.placement_id)
    return ledger.get(asked.placement_id)


def _renewed(place: Placement, ledger: Ledger, now: float) -> Placement:
    if place.state is PlacementState.ENDED and place.end_reason not in MAY_RETURN:
        raise PlacementEndedError(f"place {place.placement_id} ended ({place.end_reason})")
    ledger.change(places.renewed(place, now))
    return ledger.get(place.placement_id)


def _best(decision: Decision) -> Candidate | None:
    """Return the first candidate, of a stated size the first of which the room is known, if any is."""
    first = next(iter(decision.candidates), None)
    if decision.expected_bytes is None:
        return first
    return next((candidate for candidate in decision.candidates if candidate.free is not None), first)


def _place(
    asked: PlaceAsked, subject: Subject, decision: Decision, chosen: Candidate, ledger: Ledger
) -> Placement:
    element, now, until = chosen.element, decision.decided_at, asked.held.until
    if until is None:
        node = ledger.nodes.get(subject.node or "")
        until = now + places.LEASE
        if node is not None and node.incarnation:  # it was heard, and is not only expected
            until = max(until, node.until)
    claimed = decision.expected_bytes
    folder = element.target.rstrip("/")
    return Placement(
        placement_id=asked.placement_id,
        subject=replace(subject, node=None if asked.pid is None else subject.node),
        element=element,
        backend=places.OF_DIRECTORIES,
        distance=chosen.distance,
        placed_at=now,
        lease_until=until,
        predicted=chosen.predicted,
        requirements=decision.requirements,
        candidates=decision.candidates,
        refused=decision.refused,
        rank=chosen.rank,
        notes=decision.notes,
        stripes=(element,) * asked.streams if asked.streams > 1 else (),
        stripe_count=asked.streams,
        expected_bytes=claimed,
        expected_from=decision.expected_from,
        path=(folder or "/") if asked.name is None else f"{folder}/{asked.name}",
        pid=asked.pid,
        held=replace(asked.held, claimed=claimed),
    )
