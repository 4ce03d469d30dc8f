"""The ledger and the history of sizes for those who store them, pass them on, or look at them.

Shares the state's lock, and holds it for short moments only: what is much is taken in parts.  Sizes have a
lock of their own, and are learned by the caller of :meth:`LedgerAccess.learn`, aside of any decision.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from ses_state import _state

from ses_service.ledger import handover, places
from ses_service.ledger.announcement import silence_for
from ses_service.ledger.file_bounds import Refusals
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.pace import MAX_PACE, return_within
from ses_service.ledger.peer_placements import Notification
from ses_service.ledger.placement import PeerPlacement, Placement
from ses_service.ledger.size_history import (
    SizeHistory,
    SizeKey,
    Sizes,
    keys_of,
    keys_of_pattern,
    keys_of_place,
)
from ses_service.state.verdicts import Verdicts

T = TypeVar("T")


class Drained(Protocol[T]):
    """A set of changes, of either kind."""

    def __iter__(self) -> Iterator[T]: ...

    def clear(self) -> None:
        """Remove all."""

    def update(self, changes: Iterable[T], /) -> None:
        """Add some."""


# Seconds an open file counts that a node is asked about and does not report: its end may have been reported
# to another service, or while the database was away.
RESTORED_LEASE = 120.0
_LEARNED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """How much the ledger holds.

    ``of_peers`` are placements of other services; ``nodes`` report or are waited for, ``silenced`` is how
    many fell silent since the start.
    """

    open: int
    of_peers: int
    nodes: int
    silenced: int
    refusals: Refusals


class LedgerAccess:
    """What the service knows of placements and sizes.  All methods may be called from any thread."""

    def __init__(
        self, lock: threading.Lock, ledger: Ledger, clock: Callable[[], float], verdicts: Verdicts
    ) -> None:
        self._verdicts = verdicts
        self._lock = lock
        self._ledger = ledger
        self._clock = clock
        self._sizes = SizeHistory()
        self._sizes_lock = threading.Lock()
        self._learning = threading.Lock()

    def learn(self) -> None:
        """Find what came of the files that ended until now, and learn their sizes.

        A few at a time, so that a decision that asks for a size never waits for many.
        """
        self._verdicts.run()
        with self._learning:
            while alike := self._ledger.take_sizes(_LEARNED_AT_ONCE):
                with self._sizes_lock:
                    for user, application, pattern, is_place, is_known, at, sizes in alike:
                        keys = keys_of_pattern(user, application, pattern)
                        if is_place:
                            keys = keys_of_place(user, application)
                        if at is not None:
                            self._sizes.learn(keys, sizes, at)
                            continue
                        for size in sizes:
                            self._sizes.grows(keys, size, self._clock(), closed=is_known)

    def room(
        self, user: str, application: str | None, path: str | None, *, is_place: bool = False
    ) -> float | None:
        """Return a size in bytes that few files, or places, like this one exceed; ``None``: not known."""
        keys = keys_of_place(user, application) if is_place else keys_of(user, application, path)
        with self._sizes_lock:
            return self._sizes.room(keys)

    def rooms(self, user: str) -> dict[str, float]:
        """Return a size that few files of each of a user's applications exceed; ``""``: none is named."""
        with self._sizes_lock:
            return self._sizes.high(user)

    def sizes(self, user: str | None, limit: int) -> list[tuple[SizeKey, Sizes]]:
        """Return what is known of the sizes of files, of one user or of all, the last learned first."""
        self.learn()
        with self._sizes_lock:
            return [(key, sizes.copy()) for key, sizes in self._sizes.entries(user)[:limit]]

    def count_sizes(self) -> int:
        """Return how many entries the history of sizes has."""
        with self._sizes_lock:
            return len(self._sizes)

    def totals(self) -> LedgerTotals:
        """Return how much the ledger holds."""
        with self._lock:
            ledger = self._ledger
            return LedgerTotals(
                open=len(ledger),
                of_peers=len(ledger.of_peers),
                nodes=len(ledger.nodes),
                silenced=ledger.nodes.silenced_total,
                refusals=replace(ledger.bounds.refusals),
            )

    def stalled(self) -> list[tuple[str, str, float]]:
        """Return the threads of agents that do not go on: node, thread, and for how many seconds."""
        with self._lock:
            now = self._clock()
            threads = [
                (node.name, thread, now - since)
                for node in self._ledger.nodes
                for thread, since in node.stalled.items()
            ]
        return sorted(threads)

    def take_notification(self, notification: Notification) -> None:
        """Take what another service reports; see :mod:`ses_service.ledger.handover`."""
        with self._lock:
            handover.take(notification, self._ledger, self._clock())
        with self._sizes_lock:
            for key, sizes in notification.sizes:
                self._sizes.learn_from_peer(key, sizes, self._clock())

    def keep_peers(self, placements: Collection[PeerPlacement]) -> None:
        """Take what is stored of all other services in place of what they reported."""
        with self._lock:
            self._ledger.of_peers.keep(placements, self._clock())

    def forget_peers(self, living: Collection[str]) -> None:
        """Forget what services reported that are not among these."""
        with self._lock:
            self._ledger.of_peers.forget(living, self._clock())

    def inherit(self, stored: Iterable[Placement]) -> None:
        """Take from these records what other services knew of decisions for placements of this one."""
        with self._lock:
            for placement in stored:
                self._ledger.inherit(placement)

    def share(self) -> tuple[set[str], set[str], set[str]]:
        """Collect what :meth:`take_learned` returns; give ``inherited``, ``arrived``, ``left``."""
        with self._lock, self._sizes_lock:
            self._sizes.learned = {}
            changes = set[str](), set[str](), set[str]()
            self._ledger.inherited, self._ledger.nodes.arrived, self._ledger.left = changes
        return changes

    def take_learned(self) -> dict[SizeKey, deque[float]]:
        """Return the sizes learned since the last call."""
        with self._sizes_lock:
            learned, self._sizes.learned = self._sizes.learned or {}, {}
        return learned

    def last_announcements(self, nodes: Iterable[str]) -> tuple[float, dict[str, tuple[str, int]]]:
        """Return the time, and the incarnation and number of the last announcement of each of these nodes."""
        with self._lock:
            return self._clock(), {
                name: (node.incarnation, node.number)
                for name in nodes
                if (node := self._ledger.nodes.get(name)) is not None
            }

    def follow(self) -> _state.Changes:
        """Return a set that collects the ids of placements that change, for :meth:`drain`."""
        with self._lock:
            return self._ledger.follow()

    def follow_sizes(self) -> set[SizeKey]:
        """Return a set that collects the keys of sizes that change, for :meth:`drain`."""
        with self._sizes_lock:
            return self._sizes.follow()

    def drain(self, changed: Drained[T]) -> list[T]:
        """Empty a set of changes; return what was in it."""
        with self._lock, self._sizes_lock:
            drained = list(changed)
            changed.clear()
        return drained

    def put_back(self, changed: Drained[T], drained: Iterable[T]) -> None:
        """Undo :meth:`drain`."""
        with self._lock, self._sizes_lock:
            changed.update(drained)

    def drain_placements(self, changed: _state.Changes, limit: int) -> list[tuple[str, Placement | None]]:
        """Take up to ``limit`` ids out of a set of changes; return how these placements stand.

        ``None``: not known any more.
        """
        with self._lock:
            taken: list[tuple[str, Placement | None]] = self._ledger.take_changes(changed, limit)
            return taken

    def current(self, ids: Iterable[str]) -> list[tuple[str, Placement | None]]:
        """Return how these placements stand; ``None``: not known any more."""
        with self._lock:
            return [(placement_id, self._ledger.find(placement_id)) for placement_id in ids]

    def sizes_of(self, keys: Iterable[SizeKey]) -> list[tuple[SizeKey, Sizes | None]]:
        """Return what is known of these keys; ``None``: nothing any more."""
        with self._sizes_lock:
            return [(key, _copied(self._sizes.get(key))) for key in keys]

    def everything(self) -> tuple[list[str], list[SizeKey]]:
        """Return the ids of all placements, those that ended first, and all keys of sizes."""
        with self._lock:
            ids = self._ledger.ids()
        with self._sizes_lock:
            return ids, [key for key, _ in self._sizes.entries()]

    def restore(self, placements: Collection[Placement]) -> None:
        """Take up placements of before a restart, and wait for the nodes where they are open.

        Nodes that report already are asked about theirs.
        """
        with self._lock:
            now = self._clock()
            waited_for = return_within(len({entry.subject.node for entry in placements}))
            newest = places.newest_lease(placements)
            for placement in placements:
                if self._ledger.find(placement.placement_id) is None:
                    placement = places.restored(self._with_an_end(placement, now), now, waited_for, newest)
                    self._ledger.restore(placement)
                    self._ledger.doubt(placement.placement_id)
            for node in self._ledger.streams():
                self._ledger.nodes.expect(node, now, now + silence_for(MAX_PACE))

    def forget_peer_placements(self, ids: Iterable[str]) -> None:
        """Forget that other services reported these placements."""
        with self._lock:
            for placement_id in ids:
                self._ledger.of_peers.forget_placement(placement_id, self._clock())

    def restore_sizes(self, known: Iterable[tuple[SizeKey, Sizes]]) -> None:
        """Take up the history of sizes of before a restart."""
        with self._sizes_lock:
            for key, sizes in known:
                before = self._sizes.get(key)
                if before is None or before.last_at < sizes.last_at:
                    self._sizes.put(key, sizes, note=False)

    def _with_an_end(self, placement: Placement, now: float) -> Placement:
        node = placement.subject.node
        if math.isfinite(placement.lease_until) or (
            node is not None and not self._ledger.nodes.has_announced(node)
        ):
            return placement
        return placement.replaced(lease_until=now + RESTORED_LEASE)


def _copied(sizes: Sizes | None) -> Sizes | None:
    return None if sizes is None else sizes.copy()
