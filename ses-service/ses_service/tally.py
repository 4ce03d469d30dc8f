"""How many placements each element carries, as columns kept up to date at each change.

A file that is spread over several elements is one stream on each of them.  A placement booked ahead of
need is a stream only once its file is open, from then on; its bytes count for evenness at once.

Knows nothing of leases and nodes; :mod:`ses_service.ledger` says what is active.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ses_service.columns import ElementTable, Floats
from ses_service.placement import Placement
from ses_service.policies import Policies


@dataclass(frozen=True, eq=False)
class LedgerCounts:
    """Counts per element; the owner's live arrays, valid until the next change.

    ``open_now``: placements not ended.  ``since``: those of them that began after the element's
    reference time (S of the load model).  ``ended``: placements begun before it that ended after
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


def elements_of(placement: Placement) -> tuple[str, ...]:
    """Return the ids of all elements the file is spread over."""
    if placement.stripes:
        return tuple(one.id for one in placement.stripes)
    return (placement.element.id,)


def is_stream(placement: Placement) -> bool:
    """Whether a placement that has not ended counts as a stream."""
    return not placement.ahead or placement.opened_at is not None


def began(placement: Placement) -> float:
    """Return when it began to count as a stream."""
    opened = placement.opened_at
    return opened if placement.ahead and opened is not None else placement.booked_at


class Tally:
    """The counts of all elements.  Not safe for use from several threads."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._began_lately: deque[tuple[float, str, tuple[str, ...]]] = deque()
        self._ended_lately: deque[tuple[float, float, tuple[str, ...]]] = deque()
        self._streams: set[str] = set()
        self._counted_since: set[str] = set()
        self._placed_bytes: dict[str, float] = {}
        self._index: Mapping[str, int] = {}
        self._reference = np.zeros(0)
        self.counts = LedgerCounts.zeros(0)

    def bind(self, table: ElementTable, reference: Floats, now: float, active: Iterable[Placement]) -> None:
        """Count along the rows of ``table`` from now on, against ``reference`` (see ``observe``)."""
        self._index = table.index
        self.counts = counts = LedgerCounts.zeros(len(table))
        for placement in active:
            if is_stream(placement):
                for row, share in self._rows(placement):
                    counts.open_now[row] += 1
                    counts.reserved[row] += share
        for element, placed in self._placed_bytes.items():
            known = self._index.get(element)
            if known is not None:
                counts.placed[known] = placed
        self.observe(reference, now)

    def observe(self, reference: Floats, now: float) -> None:
        """Take new reference times: per row, the moment its last rates describe (``nan``: none).

        Costs time in proportion to what began or ended lately.  "Lately" is twice the age
        from which an observation is not used any more: a placement older than that is no longer told
        apart from those open at the sample.
        """
        self._reference = reference
        horizon = now - 2 * self._policies.max_data_age - self._policies.rate_window
        while self._began_lately and self._began_lately[0][0] < horizon:
            self._began_lately.popleft()
        while self._ended_lately and self._ended_lately[0][0] < horizon:
            self._ended_lately.popleft()
        since, ended = self.counts.since, self.counts.ended
        since.fill(0.0)
        ended.fill(0.0)
        self._counted_since.clear()
        for began_at, placement_id, elements in self._began_lately:
            if placement_id in self._streams:
                self._count_since(placement_id, began_at, elements)
        for ended_at, began_at, elements in self._ended_lately:
            self._count_ended(ended_at, began_at, elements, 1)

    def begin(self, placement: Placement, *, lately: bool) -> None:
        """Count a stream; ``lately`` when it began a moment ago."""
        self._streams.add(placement.placement_id)
        for row, share in self._rows(placement):
            self.counts.open_now[row] += 1
            self.counts.reserved[row] += share
        began_at, elements = began(placement), elements_of(placement)
        if lately:
            self._began_lately.append((began_at, placement.placement_id, elements))
        self._count_since(placement.placement_id, began_at, elements)

    def end(self, placement: Placement, now: float) -> None:
        """Count a stream no more."""
        self._streams.discard(placement.placement_id)
        elements, began_at = elements_of(placement), began(placement)
        self._ended_lately.append((now, began_at, elements))
        for row, share in self._rows(placement):
            self.counts.open_now[row] -= 1
            self.counts.reserved[row] -= share
            if self._began_after(row, began_at, placement.placement_id):
                self.counts.since[row] -= 1
            elif began_at <= self._reference[row] < now:
                self.counts.ended[row] += 1
        self._counted_since.discard(placement.placement_id)

    def forget_end(self, placement: Placement) -> None:
        """Take back the end of a stream that is taken up again."""
        if placement.ended_at is None:
            return
        entry = (placement.ended_at, began(placement), elements_of(placement))
        if entry in self._ended_lately:
            self._ended_lately.remove(entry)
            self._count_ended(*entry, -1)

    def add_bytes(self, placement: Placement, amount: float) -> None:
        """Add to the bytes placed, in equal parts on the elements of the placement."""
        elements = elements_of(placement)
        for element in elements:
            placed = max(0.0, self._placed_bytes.get(element, 0.0) + amount / len(elements))
            self._placed_bytes[element] = placed
            known = self._index.get(element)
            if known is not None:
                self.counts.placed[known] = placed

    def _rows(self, placement: Placement) -> list[tuple[int, float]]:
        elements = elements_of(placement)
        share = (placement.expected_bytes or 0.0) / len(elements)
        rows = (self._index.get(element) for element in elements)
        return [(row, share) for row in rows if row is not None]

    def _count_since(self, placement_id: str, began_at: float, elements: tuple[str, ...]) -> None:
        for element in elements:
            row = self._index.get(element)
            if row is not None and began_at > self._reference[row]:
                self._counted_since.add(placement_id)
                self.counts.since[row] += 1

    def _began_after(self, row: int, began_at: float, placement_id: str) -> bool:
        return placement_id in self._counted_since and began_at > self._reference[row]

    def _count_ended(self, ended_at: float, began_at: float, elements: tuple[str, ...], step: int) -> None:
        for element in elements:
            row = self._index.get(element)
            if row is not None and began_at <= self._reference[row] < ended_at:
                self.counts.ended[row] += step


class Arrivals:
    """How many placements a second are booked, over the last minute or so."""

    _WIDTH, _KEPT = 10.0, 6

    def __init__(self) -> None:
        self._buckets: deque[tuple[int, int]] = deque(maxlen=self._KEPT)

    def count(self, now: float) -> None:
        """Count one."""
        bucket = int(now // self._WIDTH)
        if self._buckets and self._buckets[-1][0] == bucket:
            self._buckets[-1] = (bucket, self._buckets[-1][1] + 1)
        else:
            self._buckets.append((bucket, 1))

    def rate(self, now: float) -> float:
        """Return placements per second."""
        oldest = int(now // self._WIDTH) - self._KEPT + 1
        total = sum(count for bucket, count in self._buckets if bucket >= oldest)
        return total / (now - oldest * self._WIDTH)
