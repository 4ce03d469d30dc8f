"""The ledger and the history of sizes for those who store them, pass them on, or look at them.

Shares the desk's lock, and holds it for short moments only: what is much is taken in parts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from ses_service.announcement import LONGEST_PACE, silence_for
from ses_service.foreign import Change
from ses_service.ledger import Ledger
from ses_service.placement import Placement, PlacementState
from ses_service.sizes import SizeHistory, SizeKey, Sizes

T = TypeVar("T")

PEER_SILENCE = 10.0  # seconds without a word after which another service's placements do not count


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """How much the ledger holds.

    ``foreign`` are placements of other services, ``peers_heard`` how many of these are heard of;
    ``nodes`` are heard of or waited for, ``silenced`` is how many fell silent since the start.
    """

    booked: int
    open: int
    foreign: int
    nodes: int
    silenced: int
    peers_heard: int


class Books:
    """What the service knows of placements and sizes.  All methods may be called from any thread."""

    def __init__(
        self, lock: threading.Lock, ledger: Ledger, sizes: SizeHistory, clock: Callable[[], float]
    ) -> None:
        self._lock = lock
        self._ledger = ledger
        self._sizes = sizes
        self._clock = clock

    def sizes(self, user: str | None, limit: int) -> list[tuple[SizeKey, Sizes]]:
        """Return what is known of the sizes of files, of one user or of all, the last learned first."""
        with self._lock:
            return [(key, one.copy()) for key, one in self._sizes.entries(user)[:limit]]

    def count_sizes(self) -> int:
        """Return how many entries the history of sizes has."""
        with self._lock:
            return len(self._sizes)

    def totals(self) -> LedgerTotals:
        """Return how much the ledger holds."""
        with self._lock:
            ledger = self._ledger
            return LedgerTotals(
                booked=ledger.states[PlacementState.BOOKED],
                open=ledger.states[PlacementState.OPEN],
                foreign=len(ledger.foreign),
                nodes=len(ledger.nodes),
                silenced=ledger.silenced_total,
                peers_heard=ledger.foreign.peers,
            )

    def take_changes(self, origin: str, sequence: int, *, full: bool, changes: Collection[Change]) -> bool:
        """Take what another service says of its placements; see :mod:`ses_service.foreign`."""
        with self._lock:
            now = self._clock()
            return self._ledger.take_changes(
                origin, sequence, full=full, changes=changes, now=now, until=now + PEER_SILENCE
            )

    def follow(self) -> set[str]:
        """Return a set that collects the ids of placements that change, for :meth:`drain`."""
        with self._lock:
            return self._ledger.follow()

    def follow_sizes(self) -> set[SizeKey]:
        """Return a set that collects the keys of sizes that change, for :meth:`drain`."""
        with self._lock:
            return self._sizes.follow()

    def drain(self, changed: set[T]) -> list[T]:
        """Empty a set of changes; return what was in it."""
        with self._lock:
            found = list(changed)
            changed.clear()
        return found

    def put_back(self, changed: set[T], found: Iterable[T]) -> None:
        """Undo :meth:`drain`."""
        with self._lock:
            changed.update(found)

    def found(self, ids: Iterable[str]) -> list[tuple[str, Placement | None]]:
        """Return how these placements stand; ``None``: not known any more."""
        with self._lock:
            return [(one, self._ledger.find(one)) for one in ids]

    def sizes_of(self, keys: Iterable[SizeKey]) -> list[tuple[SizeKey, Sizes | None]]:
        """Return what is known of these keys; ``None``: nothing any more."""
        with self._lock:
            return [(key, _copied(self._sizes.get(key))) for key in keys]

    def active_ids(self) -> list[str]:
        """Return the ids of the placements that have not ended."""
        with self._lock:
            return [one.placement_id for one in self._ledger.active()]

    def everything(self) -> tuple[list[str], list[SizeKey]]:
        """Return the ids of all placements, those that ended first, and all keys of sizes."""
        with self._lock:
            return self._ledger.ids(), [key for key, _ in self._sizes.entries()]

    def restore(self, placements: Iterable[Placement]) -> None:
        """Take up placements of before a restart, and wait for the nodes where they are open."""
        with self._lock:
            now = self._clock()
            for placement in placements:
                self._ledger.restore(placement)
            for node in self._ledger.open_nodes():
                self._ledger.expect(node, now, now + silence_for(LONGEST_PACE))

    def restore_sizes(self, known: Iterable[tuple[SizeKey, Sizes]]) -> None:
        """Take up the history of sizes of before a restart."""
        with self._lock:
            for key, sizes in known:
                if self._sizes.get(key) is None:
                    self._sizes.put(key, sizes)


def _copied(sizes: Sizes | None) -> Sizes | None:
    return None if sizes is None else sizes.copy()
