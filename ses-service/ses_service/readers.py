"""Programs that read back what they wrote: streams that nobody announces.

A file is in the ledger while it is written; a program that opens it again to read it is not.  Where that
is the habit (write a step, read it back, write the next) an element is not free when its file is closed,
and the next sample tells so too late.  So a closed file is expected to be read for as long as its bytes
take to read: the time it was open, times write over read capability.

Whether it is the habit, samples teach.  Of the elements on which a reader was expected at a sample a part
was not read, and of the other elements a part was not read, either (Abbott, J. Econ. Entomol. 1925)::

    chance = 1 - (unread where expected) / (unread elsewhere)

Expected readers count, as whole streams, while that is more likely than not: a part of a stream would
put every element with a reader before all with a writer.

Knows neither bytes nor who reads; forgets what it expected when the site is described anew.  Not safe for
use from several threads.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ses_service.columns import Bools, ElementTable, Floats
from ses_service.policies import Policies

MOST = 20_000  # readers that are expected at once; of more the later ones are not


class _Reader(NamedTuple):
    until: float
    since: float
    row: int
    counts: bool


class Readers:
    """Expected readers per row of the last ``bind``.

    Two columns are kept up to date, which belong to the caller: ``since``, readers that began after the
    reference time and are still expected, and ``ended``, those of then that must be done by now.
    """

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._expected: list[_Reader] = []  # a heap
        self._done: deque[_Reader] = deque(maxlen=MOST)
        self._reference = self._pace = self._since = self._ended = np.zeros(0)
        self._trials = self._unread = self._plain_trials = self._plain_unread = 0.0

    def bind(self, table: ElementTable, since: Floats, ended: Floats) -> None:
        """Count along the rows of ``table`` from now on, in these columns of zeros."""
        pace = table.write_capability / table.read_capability
        self._pace = np.where(np.isnan(pace), 1.0, pace)
        self._since, self._ended = since, ended
        self._reference = np.full(len(table), np.nan)
        self._expected.clear()
        self._done.clear()

    @property
    def chance(self) -> float:
        """How likely a closed file is to be read back, 0 to 1; 0 before anything was seen.

        Parts are estimated with one more of either kind (Laplace), so that few samples prove nothing.
        """
        where_expected = (self._unread + 1.0) / (self._trials + 2.0)
        elsewhere = (self._plain_unread + 1.0) / (self._plain_trials + 2.0)
        return max(0.0, 1.0 - where_expected / elsewhere)

    def expect(self, rows: Iterable[int], written: float, now: float) -> None:
        """Expect a reader on each row of a file that was closed now, after ``written`` seconds.

        None is expected beyond the age up to which samples are used: those tell better.
        """
        counts = self.chance > 0.5
        for row in rows:
            if len(self._expected) < MOST:
                lasts = min(self._policies.max_data_age, written * float(self._pace[row]))
                heapq.heappush(self._expected, _Reader(now + lasts, now, row, counts))
                self._since[row] += counts and not now <= self._reference[row]

    def advance(self, now: float) -> None:
        """Count no more who must be done by now."""
        while self._expected and self._expected[0].until <= now:
            reader = heapq.heappop(self._expected)
            reference = self._reference[reader.row]
            self._done.append(reader)
            if reader.since <= reference:
                self._ended[reader.row] += reader.counts
            else:
                self._since[reader.row] -= reader.counts

    def observe(self, reference: Floats, reading: Floats, now: float) -> None:
        """Take new reference times (``nan``: none), and learn.

        ``reading`` is the part of its read capability that was used on each row then (``nan``: unknown).
        """
        self.advance(now)
        self._done = deque((one for one in self._done if one.until > reference[one.row]), MOST)
        there = np.zeros(len(reference), dtype=np.bool_)
        self._since.fill(0.0)
        self._ended.fill(0.0)
        for readers, column in ((self._expected, self._since), (self._done, self._ended)):
            if not readers:
                continue
            until, since, row, counts = np.array(readers).T
            rows = row.astype(np.int64)
            then = (since <= reference[rows]) & (reference[rows] < until)
            there[rows[then]] = True
            counted = then if column is self._ended else ~(since <= reference[rows])
            np.add.at(column, rows[counted], counts[counted])
        known = ~np.isnan(reading) & ~np.isnan(reference) & (reference != self._reference)
        self._learn(there[known], reading[known] >= self._policies.reader_share)
        self._reference = reference.copy()

    def _learn(self, expected: Bools, read: Bools) -> None:
        trials = float(np.count_nonzero(expected))
        kept = self._policies.readers_memory / (self._policies.readers_memory + trials)
        self._trials = kept * self._trials + trials
        self._unread = kept * self._unread + np.count_nonzero(expected & ~read)
        self._plain_trials = kept * self._plain_trials + np.count_nonzero(~expected)
        self._plain_unread = kept * self._plain_unread + np.count_nonzero(~expected & ~read)
