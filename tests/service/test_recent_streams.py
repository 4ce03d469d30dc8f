"""What began or ended recently: the columns say the same as a list of events does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ses_service.ledger.recent_streams import RecentStreams

ROWS = {"a": 0, "b": 1, "c": 2}
BOUND = ({name: (row,) for name, row in ROWS.items()}, np.arange(3))
ELEMENTS = st.sampled_from([("a",), ("b",), ("a", "c"), ("c", "b", "a"), ("elsewhere",), ("b", "elsewhere")])
WINDOW = 2.0
MOMENTS = st.integers(0, 40).map(float)


def begun(recent: RecentStreams) -> list[float]:
    """How many streams that have not ended are known to have begun after a sample of long ago."""
    averaged: list[float] = recent.averaged(np.full(3, 1e6), np.zeros(3), WINDOW).tolist()
    return [1e6 - mean for mean in averaged]


@dataclass
class Stream:
    elements: tuple[str, ...]
    began: float
    ended: float = math.inf


def open_now(streams: dict[str, Stream]) -> np.ndarray:
    return np.array(
        [sum(n in one.elements and one.ended == math.inf for one in streams.values()) for n in ROWS]
    )


def recount(streams: dict[str, Stream], moment: list[float]) -> list[float]:
    """The mean of what was there before each moment, in steps of 10 ms."""
    mean = [0.0] * 3
    for row, element in enumerate(ROWS):
        steps = moment[row] - (np.arange(6_000) + 0.5) / 100
        weights = np.exp((steps - moment[row]) / WINDOW) / 100 / WINDOW
        for one in streams.values():
            if element in one.elements:
                mean[row] += weights[(one.began <= steps) & (steps < one.ended)].sum()
    return mean


@given(
    st.lists(st.tuples(st.integers(0, 30), ELEMENTS, MOMENTS, st.none() | MOMENTS), max_size=60),
    st.lists(MOMENTS.map(lambda moment: moment + 20), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=50)
def test_counts_are_those_of_the_last_word_on_each_stream(
    said: list[tuple[int, tuple[str, ...], float, float | None]], moment: list[float]
) -> None:
    recent, streams = RecentStreams(), dict[str, Stream]()
    recent.bind(*BOUND)
    for number, elements, began, ended in said:
        name, stop = str(number), math.inf if ended is None else began + ended
        recent.put(name, elements, began, stop)
        streams[name] = Stream(elements, began, stop)
    averaged = recent.averaged(open_now(streams), np.array(moment), WINDOW)
    assert averaged.tolist() == pytest.approx(recount(streams, moment), abs=0.01)


def test_more_than_fits_grows_and_what_is_old_goes() -> None:
    recent = RecentStreams()
    recent.bind(*BOUND)
    for number in range(5000):
        recent.put(str(number), ("a", "b"), float(number))
        recent.drop_before(number - 100.0)
    assert begun(recent) == [101, 101, 0]
    for number in range(5000, 9000):
        recent.put(str(number), ("c",), float(number))
    assert begun(recent) == [101, 101, 4000]


def test_a_stream_that_ended_recently_is_kept_however_long_ago_it_began() -> None:
    recent = RecentStreams()
    recent.bind(*BOUND)
    recent.put("old", ("a",), 1.0, 100.0)
    recent.drop_before(50.0)
    assert "old" in recent
    recent.drop_before(101.0)
    assert "old" not in recent


def test_a_stream_whose_end_is_taken_back_goes_on() -> None:
    recent = RecentStreams()
    recent.bind(*BOUND)
    recent.put("x", ("a",), 5.0, 9.0)
    recent.put("x", ("a",), 5.0)
    assert begun(recent) == [1, 0, 0]


@given(
    st.lists(
        st.tuples(
            st.none() | MOMENTS,
            st.lists(st.tuples(st.integers(0, 20).map(str), ELEMENTS, MOMENTS), max_size=40),
        ),
        max_size=8,
    )
)
@settings(deadline=None, max_examples=50)
def test_many_at_once_are_as_one_after_the_other(
    said: list[tuple[float | None, list[tuple[str, tuple[str, ...], float]]]],
) -> None:
    single, together = RecentStreams(), RecentStreams()
    single._began, single._ended, single._row = (
        np.zeros(4, one.dtype) for one in (single._began, single._ended, single._row)
    )
    together._began, together._ended, together._row = (
        one.copy() for one in (single._began, single._ended, single._row)
    )
    for each in (single, together):
        each.bind(*BOUND)
    for ended, streams in said:
        for stream, elements, began in streams:
            single.put(stream, elements, began, math.inf if ended is None else ended)
        if ended is None:
            together.begin_all(streams)
        else:
            together.end_all(streams, ended)
        for sampled_at in (10.0, 30.0):
            means = [one.averaged(np.zeros(3), np.full(3, sampled_at), WINDOW) for one in (single, together)]
            assert means[1] == pytest.approx(means[0])


def test_other_rows_are_counted_from_the_moment_they_are_bound() -> None:
    recent = RecentStreams()
    recent.bind({}, np.arange(3))
    recent.put("x", ("a", "c"), 5.0)
    assert begun(recent) == [0, 0, 0]
    recent.bind({"c": (0,), "a": (1,)}, np.arange(3))
    assert begun(recent) == [1, 1, 0]
