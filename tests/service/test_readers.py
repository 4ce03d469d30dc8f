"""Programs that read back what they wrote: expected where samples show that they do, and only there."""

from __future__ import annotations

import numpy as np
from ses_service.columns import element_table
from ses_service.ledger import Ledger
from ses_service.model import Element, Environment, Subject
from ses_service.placement import EndReason, Placement
from ses_service.policies import Policies
from ses_service.readers import MOST, Readers

NAMES = ("a", "b", "c", "d")
TABLE = element_table(
    Environment(
        elements=tuple(
            Element(name, "", name, "u", "/" + name, "n", nominal_read_rate=200.0, nominal_write_rate=100.0)
            for name in NAMES
        )
    )
)
QUIET, READ_A, READ_ALL = np.zeros(4), np.array([0.9, 0, 0, 0]), np.full(4, 0.9)


class Known:
    """Readers with their columns."""

    def __init__(self, most: float = 1000.0) -> None:
        self.since, self.ended, self.doubt = np.zeros(4), np.zeros(4), np.zeros(4)
        self.readers = Readers(Policies(max_data_age=most))
        self.readers.bind(TABLE, self.since, self.ended, self.doubt)
        self.now = 0.0

    def sample(self, reading: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self.readers.observe(np.full(4, self.now), reading, self.now)

    def learn(self, reading: np.ndarray[tuple[int], np.dtype[np.float64]], times: int = 20) -> Known:
        """A file on the first element is closed after 20 s, and a sample follows while it can be read."""
        for _ in range(times):
            self.readers.expect([0], 20.0, self.now)
            self.now += 5.0
            self.sample(reading)
            self.now += 6.0
            self.readers.advance(self.now)
        self.sample(QUIET)
        self.now += 1.0
        return self


def test_nobody_is_expected_before_anything_was_seen() -> None:
    known = Known()
    known.readers.expect([0], 20.0, 0.0)
    assert known.since.tolist() == [0, 0, 0, 0]
    assert known.readers.chance == 0


def test_who_always_reads_back_is_expected_for_as_long_as_that_takes() -> None:
    known = Known().learn(READ_A)
    assert known.readers.chance > 0.8
    begin = known.now
    known.readers.expect([0, 2], 20.0, begin)
    assert known.since.tolist() == [1, 0, 1, 0]
    known.readers.advance(begin + 6.9)
    assert known.since.tolist() == [1, 0, 1, 0]
    known.readers.advance(begin + 7.0)
    assert known.since.tolist() == [0, 0, 0, 0], "20 s of writing at half the rate of reading, less 30 %"


def test_who_may_be_done_and_may_be_there_is_a_doubt_until_nobody_takes_so_long() -> None:
    known = Known().learn(READ_A)
    begin = known.now
    known.readers.expect([2], 20.0, begin)
    known.readers.advance(begin + 6.9)
    assert known.doubt[2] == 0
    known.readers.advance(begin + 7.0)
    assert known.doubt[2] == 1
    known.readers.advance(begin + 14.9)
    assert known.doubt[2] == 1
    known.readers.advance(begin + 15.0)
    assert known.doubt[2] == 0


def test_files_that_are_left_alone_teach_that_nobody_reads() -> None:
    known = Known().learn(READ_A).learn(QUIET, 60)
    assert known.readers.chance < 0.5
    known.readers.expect([0], 20.0, known.now)
    assert known.since.tolist() == [0, 0, 0, 0]


def test_readers_that_are_everywhere_are_not_ours() -> None:
    assert Known().learn(READ_ALL).readers.chance < 0.5


def test_a_reader_that_is_done_before_the_sample_of_its_time_is_known_counts_as_done() -> None:
    known = Known().learn(READ_A)
    begin = known.now
    known.readers.expect([0], 20.0, begin)
    known.readers.observe(np.full(4, begin + 9.0), READ_A, begin + 11.0)
    assert known.ended.tolist() == [1, 0, 0, 0], "the sample saw it, and it was done a second later"
    known.readers.observe(np.full(4, begin + 12.0), QUIET, begin + 13.0)
    assert known.ended.tolist() == [0, 0, 0, 0]


def test_a_reader_of_the_time_of_the_sample_is_told_apart_when_it_is_done() -> None:
    known = Known().learn(READ_A)
    known.readers.expect([0], 20.0, known.now)
    known.now += 5.0
    known.sample(READ_A)
    assert (known.since.tolist(), known.ended.tolist()) == ([0, 0, 0, 0], [0, 0, 0, 0]), "the sample saw it"
    known.now += 5.0
    known.readers.advance(known.now)
    assert known.ended.tolist() == [1, 0, 0, 0]
    known.sample(QUIET)
    assert known.ended.tolist() == [0, 0, 0, 0], "the next sample did not see it any more"


def test_an_old_sample_says_nothing_of_readers_since() -> None:
    known = Known().learn(READ_A)
    known.readers.expect([0], 20.0, known.now)
    reference = np.full(4, known.now - 1.0)
    known.readers.observe(reference, READ_A, known.now + 2.0)
    assert known.since.tolist() == [1, 0, 0, 0]


def test_beyond_the_age_of_samples_nobody_is_expected() -> None:
    known = Known(most=15.0).learn(READ_A)
    known.readers.expect([0], 4000.0, known.now)
    known.readers.advance(known.now + 15.0)
    assert known.since.tolist() == [0, 0, 0, 0]


def test_an_unknown_rate_teaches_nothing() -> None:
    assert Known().learn(np.full(4, np.nan)).readers.chance < 0.5


def test_the_readers_expected_are_bounded() -> None:
    known = Known().learn(READ_A)
    known.readers.expect([0] * (MOST + 5), 20.0, known.now)
    assert known.since[0] + known.doubt[0] == MOST


def test_only_files_that_were_closed_are_expected_to_be_read() -> None:
    ledger = Ledger(Policies(max_data_age=1000.0))
    ledger.bind(TABLE, np.zeros(4), 0.0)
    numbers = iter(range(100))

    def lasted(reason: EndReason, now: float) -> None:
        one = f"{next(numbers):016x}"
        ledger.book(Placement(one, Subject("alice"), TABLE.elements[0], "u", 0.0, now, now + 60))
        ledger.end(one, reason, now + 20.0)

    now = 0.0
    for _ in range(20):
        lasted(EndReason.CLOSED, now)
        now += 25.0
        ledger.observe(np.full(4, now), now, READ_A)
        now += 6.0
        ledger.expire(now)
    lasted(EndReason.LOST, now)
    assert ledger.counts.read_since.tolist() == [0, 0, 0, 0]
    lasted(EndReason.CLOSED, now)
    assert ledger.counts.read_since.tolist() == [1, 0, 0, 0]
    ledger.bind(TABLE, np.zeros(4), now)
    assert ledger.counts.read_since.tolist() == [0, 0, 0, 0]
