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

Nobody knows exactly when a reader is done, since others slow it down: from ``Policies.reader_sooner`` of
the expected time on, until ``reader_later`` of it, it counts as gone, but the element is in doubt
(:func:`ses_service.prediction.in_doubt`).

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
    moment: float  # when it next counts in another way
    until: float
    since: float
    row: int
    counts: bool


class Readers:
    """Expected readers per row of the last ``bind``.

    Three columns are kept up to date, which belong to the caller: ``since``, readers that began after the
    reference time and are surely still there, ``ended``, those of then that may be done by now, and
    ``doubt``, those that may be done and may be there.
    """

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._expected: list[_Reader] = []  # a heap, as the next
        self._doubted: list[_Reader] = []
        self._done: deque[_Reader] = deque(maxlen=MOST)
        self._reference = self._pace = self._since = self._ended = self._doubt = np.zeros(0)
        self._trials = self._unread = self._plain_trials = self._plain_unread = 0.0

    def bind(self, table: ElementTable, since: Floats, ended: Floats, doubt: Floats) -> None:
        """Count along the rows of ``table`` from now on, in these columns of zeros."""
        pace = table.write_capability / table.read_capability
        self._pace = np.where(np.isnan(pace), 1.0, pace)
        self._since, self._ended, self._doubt = since, ended, doubt
        self._reference = np.full(len(table), np.nan)
        self._expected.clear()
        self._doubted.clear()
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
            if len(self._expected) + len(self._doubted) < MOST:
                lasts = min(self._policies.max_data_age, written * float(self._pace[row]))
                sooner = now + self._policies.reader_sooner * lasts
                heapq.heappush(self._expected, _Reader(sooner, now + lasts, now, row, counts))
                self._since[row] += counts and not now <= self._reference[row]

    def advance(self, now: float) -> list[int]:
        """Doubt who may be done by now, and forget who must be; return their rows."""
        found: list[int] = []
        while self._expected and self._expected[0].moment <= now:
            reader = heapq.heappop(self._expected)
            found.append(reader.row)
            later = reader.since + self._policies.reader_later * (reader.until - reader.since)
            heapq.heappush(self._doubted, reader._replace(moment=later))
            self._doubt[reader.row] += reader.counts
            reference = self._reference[reader.row]
            if reader.since > reference or np.isnan(reference):
                self._since[reader.row] -= reader.counts
            elif reference < reader.until:
                self._ended[reader.row] += reader.counts
        while self._doubted and self._doubted[0].moment <= now:
            reader = heapq.heappop(self._doubted)
            found.append(reader.row)
            self._doubt[reader.row] -= reader.counts
            self._done.append(reader)
        return found

    def observe(self, reference: Floats, reading: Floats, now: float) -> None:
        """Take new reference times (``nan``: none), and learn.

        ``reading`` is the part of its read capability that was used on each row then (``nan``: unknown).
        """
        self.advance(now)
        self._done = deque((one for one in self._done if one.until > reference[one.row]), MOST)
        there = np.zeros(len(reference), dtype=np.bool_)
        self._since.fill(0.0)
        self._ended.fill(0.0)
        for readers in (self._expected, self._doubted, self._done):
            if not readers:
                continue
            _, until, since, row, counts = np.array(readers).T
            rows = row.astype(np.int64)
            then = (since <= reference[rows]) & (reference[rows] < until)
            there[rows[then]] = True
            if readers is self._expected:
                then, column = ~(since <= reference[rows]), self._since
            else:
                column = self._ended
            np.add.at(column, rows[then], counts[then])
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
