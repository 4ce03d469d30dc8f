"""What began or ended lately: the columns say the same as a list of events does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from ses_service.lately import Lately

ROWS = {"a": 0, "b": 1, "c": 2}
ELEMENTS = st.sampled_from([("a",), ("b",), ("a", "c"), ("c", "b", "a"), ("elsewhere",), ("b", "elsewhere")])
MOMENTS = st.integers(0, 40).map(float)


@dataclass
class Stream:
    elements: tuple[str, ...]
    began: float
    ended: float = math.inf


def recount(streams: dict[str, Stream], reference: list[float]) -> tuple[list[float], list[float]]:
    since, gone = [0.0] * 3, [0.0] * 3
    for one in streams.values():
        for element in one.elements:
            row = ROWS.get(element)
            if row is None:
                continue
            since[row] += one.ended == math.inf and one.began > reference[row]
            gone[row] += one.ended < math.inf and one.began <= reference[row] < one.ended
    return since, gone


@given(
    st.lists(st.tuples(st.integers(0, 30), ELEMENTS, MOMENTS, st.none() | MOMENTS), max_size=60),
    st.lists(MOMENTS, min_size=3, max_size=3),
)
@settings(deadline=None)
def test_counts_are_those_of_the_last_word_on_each_stream(
    said: list[tuple[int, tuple[str, ...], float, float | None]], reference: list[float]
) -> None:
    lately, streams = Lately(), dict[str, Stream]()
    lately.bind(ROWS)
    for number, elements, began, ended in said:
        name, stop = str(number), math.inf if ended is None else began + ended
        lately.put(name, elements, began, stop)
        streams[name] = Stream(elements, began, stop)
    since, gone = lately.counted(np.array(reference))
    assert (since.tolist(), gone.tolist()) == recount(streams, reference)


def test_more_than_fits_grows_and_what_is_old_goes() -> None:
    lately = Lately()
    lately.bind(ROWS)
    for number in range(5000):
        lately.put(str(number), ("a", "b"), float(number))
        lately.drop_before(number - 100.0)
    since, _ = lately.counted(np.zeros(3))
    assert since.tolist() == [101, 101, 0]
    for number in range(5000, 9000):
        lately.put(str(number), ("c",), float(number))
    since, _ = lately.counted(np.zeros(3))
    assert since.tolist() == [101, 101, 4000]


def test_a_stream_that_ended_lately_is_kept_however_long_ago_it_began() -> None:
    lately = Lately()
    lately.bind(ROWS)
    lately.put("old", ("a",), 1.0, 100.0)
    lately.drop_before(50.0)
    assert lately.counted(np.full(3, 60.0))[1].tolist() == [1, 0, 0]
    lately.drop_before(101.0)
    assert "old" not in lately


def test_an_end_taken_back_is_told_once() -> None:
    lately = Lately()
    lately.bind(ROWS)
    lately.put("x", ("a",), 5.0, 9.0)
    found = lately.forget_end("x")
    assert found is not None
    assert (found.elements, found.began, found.ended) == (("a",), 5.0, 9.0)
    assert lately.forget_end("x") is None
    assert lately.counted(np.zeros(3))[0].tolist() == [1, 0, 0]


def test_other_rows_are_counted_from_the_moment_they_are_bound() -> None:
    lately = Lately()
    lately.bind({})
    lately.put("x", ("a", "c"), 5.0)
    assert lately.counted(np.zeros(3))[0].tolist() == [0, 0, 0]
    lately.bind({"c": 0, "a": 1})
    assert lately.counted(np.zeros(3))[0].tolist() == [1, 1, 0]
