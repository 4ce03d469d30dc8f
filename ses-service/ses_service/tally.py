"""How many placements each element carries, as columns kept up to date at each change.

A file that is spread over several elements is one stream on each of them.  A placement booked ahead of
need is a stream only once its file is open, from then on; whose turn it is, it changes at once.

Knows nothing of leases and nodes; :mod:`ses_service.ledger` says what is active.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np

from ses_service.changes import Changes
from ses_service.columns import ElementTable, Floats
from ses_service.lately import Lately
from ses_service.placement import Placement
from ses_service.policies import Policies
from ses_service.readers import Readers


@dataclass(frozen=True, eq=False)
class LedgerCounts:
    """Counts per element; the owner's live arrays, valid until the next change.

    ``open_now``: placements not ended.  ``since``: those of them that began after the element's
    reference time (S of the load model).  ``ended``: placements begun before it that ended after
    it (K).  ``reserved``: bytes announced by placements not ended.  ``booked_last``: when the last
    placement was booked, ended ones included; 0 where none is known.  ``read_since``,
    ``read_ended``: programs expected to read back what was closed, those that began after the
    reference time and those of then that may be done (:mod:`ses_service.readers`).  ``read_doubt``: those
    that may be done and may be there.  ``read_back``: 1 where programs are known to do so.
    """

    open_now: Floats
    since: Floats
    ended: Floats
    reserved: Floats
    booked_last: Floats
    read_since: Floats
    read_ended: Floats
    read_doubt: Floats
    read_back: Floats

    @property
    def open_at_sample(self) -> Floats:
        """Placements open at the reference time (L of the load model)."""
        return self.open_now - self.since + self.ended

    @classmethod
    def zeros(cls, size: int) -> LedgerCounts:
        """Return the counts of an empty ledger."""
        return cls(*(np.zeros(size) for _ in fields(cls)))


def elements_of(placement: Placement) -> tuple[str, ...]:
    """Return the ids of all elements the file is spread over."""
    if len(placement.stripes) > 1:
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
    """The counts of all elements.  Not safe for use from several threads.

    ``version`` is another number after every change by which an element may look worse than before;
    ``changes`` tells the rows of every change.  ``lasting`` is for how many seconds an observation counts.
    """

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._lately = Lately()
        self._readers = Readers(policies)
        self._booked_last: dict[str, float] = {}
        self._index: Mapping[str, int] = {}
        self._reference = np.zeros(0)
        self.counts = LedgerCounts.zeros(0)
        self.version = 0
        self.changes = Changes()
        self.lasting = policies.max_data_age

    def bind(self, table: ElementTable, reference: Floats, now: float, active: Iterable[Placement]) -> None:
        """Count along the rows of ``table`` from now on, against ``reference`` (see ``observe``)."""
        self._index = table.index
        self._lately.bind(table.index)
        self.counts = counts = LedgerCounts.zeros(len(table))
        for placement in active:
            if is_stream(placement):
                for row, share in self._rows(placement):
                    counts.open_now[row] += 1
                    counts.reserved[row] += share
        for element, moment in self._booked_last.items():
            known = self._index.get(element)
            if known is not None:
                counts.booked_last[known] = moment
        self._readers.bind(table, counts.read_since, counts.read_ended, counts.read_doubt)
        self.observe(reference, now, np.full(len(table), np.nan))

    def observe(self, reference: Floats, now: float, reading: Floats) -> None:
        """Take new reference times: per row, the moment its last rates describe (``nan``: none).

        ``reading`` is the part of its read capability that an element used then (``nan``: unknown).

        Costs a few passes over what began or ended lately.  "Lately" is twice the age from which an
        observation is not used any more: a placement older than that is no longer told apart from those
        open at the sample.
        """
        self.version += 1
        self.changes.note_all()
        self._reference = reference
        self._lately.drop_before(now - 2 * self.lasting - self._policies.rate_window)
        since, ended = self._lately.counted(reference)
        self.counts.since[:], self.counts.ended[:] = since, ended
        self._readers.observe(reference, reading, now)
        self.counts.read_back.fill(self._readers.chance > 0.5)

    def begin(self, placement: Placement) -> None:
        """Count a stream; one that ended lately goes on."""
        self.version += 1
        self._take_back_end(placement.placement_id)
        began_at = began(placement)
        for row, share in self._rows(placement):
            self.counts.open_now[row] += 1
            self.counts.reserved[row] += share
            self.counts.since[row] += began_at > self._reference[row]
            self.changes.note(row)
        self._lately.put(placement.placement_id, elements_of(placement), began_at)

    def end(self, placement: Placement, now: float) -> None:
        """Count a stream no more."""
        began_at = began(placement)
        counted = placement.placement_id in self._lately
        for row, share in self._rows(placement):
            self.changes.note(row)
            self.counts.open_now[row] -= 1
            self.counts.reserved[row] -= share
            if began_at > self._reference[row]:
                self.counts.since[row] -= counted
            elif self._reference[row] < now:
                self.counts.ended[row] += 1
        self._lately.put(placement.placement_id, elements_of(placement), began_at, now)

    def closed(self, placement: Placement, now: float) -> None:
        """Note that a stream ended because its file was closed, which may be read from now on."""
        rows = [row for row, _ in self._rows(placement)]
        self._readers.expect(rows, now - began(placement), now)
        for row in rows:
            self.changes.note(row)

    def advance(self, now: float) -> None:
        """Let time go by."""
        for row in self._readers.advance(now):
            self.changes.note(row)

    def booked(self, placement: Placement) -> None:
        """Note that its elements had their turn, whatever becomes of the placement."""
        self.version += 1
        for element in elements_of(placement):
            moment = max(placement.booked_at, self._booked_last.get(element, 0.0))
            self._booked_last[element] = moment
            known = self._index.get(element)
            if known is not None:
                self.counts.booked_last[known] = moment
                self.changes.note(known)

    def _take_back_end(self, stream: str) -> None:
        found = self._lately.forget_end(stream)
        for element in found.elements if found else ():
            row = self._index.get(element)
            if row is not None and found and found.began <= self._reference[row] < found.ended:
                self.counts.ended[row] -= 1
                self.changes.note(row)

    def _rows(self, placement: Placement) -> list[tuple[int, float]]:
        elements = elements_of(placement)
        share = (placement.expected_bytes or 0.0) / len(elements)
        rows = (self._index.get(element) for element in elements)
        return [(row, share) for row in rows if row is not None]


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
