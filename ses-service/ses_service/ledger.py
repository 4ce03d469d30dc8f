"""The ledger: the service's own record of placements still in use.

A state machine: ``booked`` -> ``open`` -> ``ended``, with time passed in.  It answers two
questions: what became of a placement, and how many placements each element carries, as columns
beside those of :mod:`ses_service.columns`, kept up to date at each change instead of counted.

Not safe for use from several threads; its owner holds a lock.  Not stored: a restart begins empty.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ses_service.columns import ElementTable, Floats
from ses_service.placement import EndReason, Placement, PlacementState
from ses_service.policies import Policies

_NO_FILE = frozenset({EndReason.UNUSED, EndReason.EXPIRED, EndReason.FAILED})


class LedgerError(Exception):
    """What was asked of the ledger cannot be done."""


class UnknownPlacementError(LedgerError):
    """No placement has this id, or its record was dropped long after it ended."""


class PlacementEndedError(LedgerError):
    """The placement has ended and cannot be opened."""


@dataclass(frozen=True, eq=False)
class LedgerCounts:
    """Counts per element; the owner's live arrays, valid until the next change.

    ``open_now``: placements not ended.  ``since``: those of them booked after the element's
    reference time (S of the load model).  ``ended``: placements booked before it that ended after
    it (K).  ``reserved``: bytes announced by placements not ended.  ``placed``: bytes placed so
    far, for evenness in the long run.
    """

    open_now: Floats
    since: Floats
    ended: Floats
    reserved: Floats
    placed: Floats

    @property
    def open_at_sample(self) -> Floats:
        """Placements open at the reference time (L of the load model)."""
        return self.open_now - self.since + self.ended

    @classmethod
    def zeros(cls, size: int) -> LedgerCounts:
        """Return the counts of an empty ledger."""
        return cls(*(np.zeros(size) for _ in range(5)))


class Ledger:
    """All placements not ended, and the last ``Policies.max_records`` that ended.

    ``ended_total`` counts the ends by reason.
    """

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._active: dict[str, Placement] = {}
        self._ended: OrderedDict[str, Placement] = OrderedDict()
        self._leases: list[tuple[float, str]] = []
        self._booked_lately: deque[tuple[float, str]] = deque()
        self._ended_lately: deque[tuple[float, float, str]] = deque()
        self._counted_since: set[str] = set()
        self._placed_bytes: dict[str, float] = {}
        self._index: Mapping[str, int] = {}
        self._reference = np.zeros(0)
        self.counts = LedgerCounts.zeros(0)
        self.ended_total: Counter[EndReason] = Counter()

    def __len__(self) -> int:
        return len(self._active)

    def bind(self, table: ElementTable, reference: Floats, now: float) -> None:
        """Count along the rows of ``table`` from now on, against ``reference`` (see ``observe``)."""
        self._index = table.index
        self.counts = counts = LedgerCounts.zeros(len(table))
        for placement in self._active.values():
            row = self._index.get(placement.element.id)
            if row is not None:
                counts.open_now[row] += 1
                counts.reserved[row] += placement.expected_bytes or 0.0
        for element, placed in self._placed_bytes.items():
            row = self._index.get(element)
            if row is not None:
                counts.placed[row] = placed
        self.observe(reference, now)

    def observe(self, reference: Floats, now: float) -> None:
        """Take new reference times: per row, the moment its last rates describe (``nan``: none).

        Costs time in proportion to what was booked or ended lately.  "Lately" is twice the age
        from which an observation is not used any more: a placement older than that is no longer told
        apart from those open at the sample.
        """
        self._reference = reference
        horizon = now - 2 * self._policies.max_data_age - self._policies.rate_window
        while self._booked_lately and self._booked_lately[0][0] < horizon:
            self._booked_lately.popleft()
        while self._ended_lately and self._ended_lately[0][0] < horizon:
            self._ended_lately.popleft()
        since, ended = self.counts.since, self.counts.ended
        since.fill(0.0)
        ended.fill(0.0)
        self._counted_since.clear()
        for booked_at, placement_id in self._booked_lately:
            placement = self._active.get(placement_id)
            row = self._index.get(placement.element.id) if placement else None
            if row is not None and booked_at > reference[row]:
                self._counted_since.add(placement_id)
                since[row] += 1
        for ended_at, booked_at, element in self._ended_lately:
            row = self._index.get(element)
            if row is not None and booked_at <= reference[row] < ended_at:
                ended[row] += 1

    def book(self, placement: Placement) -> None:
        """Add a booked placement.  Its id must not have been used before."""
        placement_id = placement.placement_id
        if placement_id in self._active or placement_id in self._ended:
            raise LedgerError(f"placement {placement_id} exists already")
        self._activate(placement)
        self._booked_lately.append((placement.booked_at, placement_id))
        self._add_bytes(placement.element.id, self._assumed(placement))

    def open(
        self,
        placement_id: str,
        now: float,
        *,
        path: str | None = None,
        device: int | None = None,
        inode: str | None = None,
        pid: int | None = None,
    ) -> Placement:
        """Note that the file was created; called again, renew the lease.

        A placement that expired is taken up again, since the agent that speaks of it knows better.
        Raises UnknownPlacementError, and PlacementEndedError after any other end.
        """
        placement = self.get(placement_id)
        if placement.state is PlacementState.ENDED:
            if placement.end_reason is not EndReason.EXPIRED:
                raise PlacementEndedError(f"placement {placement_id} ended ({placement.end_reason})")
            del self._ended[placement_id]
        opened = replace(
            placement,
            state=PlacementState.OPEN,
            path=path if path is not None else placement.path,
            device=device if device is not None else placement.device,
            inode=inode if inode is not None else placement.inode,
            pid=pid if pid is not None else placement.pid,
            opened_at=now if placement.opened_at is None else placement.opened_at,
            lease_until=now + self._policies.open_lease,
            ended_at=None,
            end_reason=None,
        )
        if placement.state is PlacementState.ENDED:
            self._forget_end(placement)
            self._activate(opened)
            if placement.opened_at is None:
                self._add_bytes(opened.element.id, self._assumed(opened))
        else:
            self._active[placement_id] = opened
            heapq.heappush(self._leases, (opened.lease_until, placement_id))
        return opened

    def end(
        self, placement_id: str, reason: EndReason, now: float, bytes_written: float | None = None
    ) -> Placement:
        """End a placement.  Ending it again changes nothing but a size unknown until then.

        Raises UnknownPlacementError.
        """
        placement = self._active.pop(placement_id, None)
        if placement is None:
            return self._complete(self.get(placement_id), bytes_written)
        ended = replace(
            placement,
            state=PlacementState.ENDED,
            ended_at=now,
            end_reason=reason,
            bytes_written=bytes_written,
        )
        self.ended_total[reason] += 1
        self._deactivate(ended, now)
        if bytes_written is not None:
            self._add_bytes(ended.element.id, bytes_written - self._assumed(ended))
        elif reason in _NO_FILE and ended.opened_at is None:
            self._add_bytes(ended.element.id, -self._assumed(ended))
        self._keep(ended)
        return ended

    def expire(self, now: float) -> int:
        """End every placement whose lease ran out; return how many did."""
        count = 0
        while self._leases and self._leases[0][0] <= now:
            _, placement_id = heapq.heappop(self._leases)
            placement = self._active.get(placement_id)
            if placement is not None and placement.lease_until <= now:
                self.end(placement_id, EndReason.EXPIRED, now)
                count += 1
        return count

    def get(self, placement_id: str) -> Placement:
        """Return a placement, or raise UnknownPlacementError."""
        placement = self._active.get(placement_id) or self._ended.get(placement_id)
        if placement is None:
            raise UnknownPlacementError(f"no placement {placement_id} is known")
        return placement

    def records(self) -> Iterator[Placement]:
        """Yield every placement that is kept, in no order."""
        yield from self._active.values()
        yield from self._ended.values()

    def _activate(self, placement: Placement) -> None:
        self._active[placement.placement_id] = placement
        heapq.heappush(self._leases, (placement.lease_until, placement.placement_id))
        row = self._index.get(placement.element.id)
        if row is not None:
            self.counts.open_now[row] += 1
            self.counts.reserved[row] += placement.expected_bytes or 0.0
            if placement.booked_at > self._reference[row]:
                self._counted_since.add(placement.placement_id)
                self.counts.since[row] += 1

    def _deactivate(self, placement: Placement, now: float) -> None:
        self._ended_lately.append((now, placement.booked_at, placement.element.id))
        row = self._index.get(placement.element.id)
        if row is None:
            return
        self.counts.open_now[row] -= 1
        self.counts.reserved[row] -= placement.expected_bytes or 0.0
        if placement.placement_id in self._counted_since:
            self._counted_since.remove(placement.placement_id)
            self.counts.since[row] -= 1
        elif placement.booked_at <= self._reference[row] < now:
            self.counts.ended[row] += 1

    def _forget_end(self, placement: Placement) -> None:
        if placement.ended_at is None:
            return
        entry = (placement.ended_at, placement.booked_at, placement.element.id)
        if entry not in self._ended_lately:
            return
        self._ended_lately.remove(entry)
        row = self._index.get(placement.element.id)
        if row is not None and placement.booked_at <= self._reference[row] < placement.ended_at:
            self.counts.ended[row] -= 1

    def _assumed(self, placement: Placement) -> float:
        if placement.expected_bytes is not None:
            return placement.expected_bytes
        return self._policies.assumed_bytes

    def _add_bytes(self, element: str, amount: float) -> None:
        placed = max(0.0, self._placed_bytes.get(element, 0.0) + amount)
        self._placed_bytes[element] = placed
        row = self._index.get(element)
        if row is not None:
            self.counts.placed[row] = placed

    def _complete(self, placement: Placement, bytes_written: float | None) -> Placement:
        if bytes_written is None or placement.bytes_written is not None:
            return placement
        completed = replace(placement, bytes_written=bytes_written)
        self._ended[placement.placement_id] = completed
        return completed

    def _keep(self, placement: Placement) -> None:
        self._ended[placement.placement_id] = placement
        while len(self._ended) > self._policies.max_records:
            self._ended.popitem(last=False)
