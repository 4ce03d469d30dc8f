"""Counters become rates by measured time, through resets, gaps and idleness."""

from dataclasses import replace
from math import exp
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from smed_monitor.core.model import Reading
from smed_monitor.core.rates import Rates, Table, Windows, observe, restarted, unseen
from smed_monitor.core.readings import numbers_of

WINDOWS = Windows(current=2.0, average=60.0, max_gap=3.0)


def mean(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def row(*values: float | None) -> Table:
    """The counters of one element."""
    return np.array([values], np.float64)


class Rate(NamedTuple):
    """One counter among others."""

    rates: Rates

    @property
    def current(self) -> float | None:
        return mean(self.rates.current_means()[0, 1])

    @property
    def average(self) -> float | None:
        return mean(self.rates.average_means()[0, 1])


def then(rate: Rate, value: float | None, at: float) -> Rate:
    """``rate`` after one more sample; its neighbours are a counter nobody reports and an idle one."""
    return Rate(observe(rate.rates, row(None, value, 0.0), at, WINDOWS))


def after(*samples: tuple[float, float | None]) -> Rate:
    """The rate after (moment, counter) samples."""
    rate = Rate(unseen(1, 3))
    for at, value in samples:
        rate = then(rate, value, at)
    return rate


def test_one_sample_gives_no_rate() -> None:
    rate = after((10, 5_000_000))
    assert rate.current is None
    assert rate.average is None


def test_a_steady_flow_gives_its_exact_rate_however_uneven_the_samples() -> None:
    rate = after((0, 0), (0.4, 1200), (1.9, 5700), (2.0, 6000), (4.9, 14700))
    assert rate.current == pytest.approx(3000)
    assert rate.average == pytest.approx(3000)


def test_the_average_does_not_ramp_up_from_zero() -> None:
    assert after((0, 0), (1, 3000)).average == pytest.approx(3000)


def test_an_idle_counter_gives_zero_not_unknown() -> None:
    rate = after((0, 77), (1, 77), (2, 77))
    assert rate.current == 0
    assert rate.average == 0


def test_a_reset_counter_contributes_what_it_shows_now() -> None:
    assert after((0, 1_000_000), (2, 500)).current == pytest.approx(250)


def test_a_reset_in_a_steady_flow_does_not_disturb_the_rate() -> None:
    rate = after((0, 9000), (1, 12000), (2, 15000), (3, 3000), (4, 6000))
    assert rate.current == pytest.approx(3000)
    assert rate.average == pytest.approx(3000)


def test_after_a_gap_the_current_rate_is_unknown_until_the_next_interval() -> None:
    before_gap = [(0.0, 0.0), (1.0, 9000.0)]
    assert after(*before_gap, (31, 9000)).current is None
    assert after(*before_gap, (31, 9000), (32, 9100)).current == pytest.approx(100)
    assert after(*before_gap, (1 + WINDOWS.max_gap, 9000)).current is not None
    assert after(*before_gap, (1.1 + WINDOWS.max_gap, 9000)).current is None


def test_a_gap_enters_the_average_with_its_full_length() -> None:
    rate = after((0, 0), (60, 60 * 1000), (120, 60 * 1000))
    kept = exp(-1)
    assert rate.average == pytest.approx(1000 * (1 - kept) * kept / (1 - kept * kept))


def test_the_current_rate_forgets_with_its_window_and_the_average_with_its_own() -> None:
    samples: list[tuple[float, float | None]] = [(second, second * 1000.0) for second in range(600)]
    stopped = after(*samples, (601, 599_000.0))
    assert stopped.current == pytest.approx(1000 * exp(-2 / 2))
    assert stopped.average == pytest.approx(1000 * exp(-2 / 60), rel=1e-3)


@pytest.mark.parametrize("at", [5.0, 4.0])
def test_a_sample_that_is_not_later_changes_nothing(at: float) -> None:
    before = after((4.5, 100), (5.0, 200))
    after_it = then(before, 900, at)
    for was, now in zip(before.rates, after_it.rates, strict=True):
        np.testing.assert_array_equal(was, now)


def test_a_counter_that_was_not_reported_starts_again_without_a_jump() -> None:
    rate = after((0, 0), (1, 1000), (2, None), (3, 900_000))
    assert rate.current is None
    assert rate.average == pytest.approx(1000)
    assert then(rate, 900_500, 4).current == pytest.approx(500)


steps = st.lists(
    st.tuples(st.floats(min_value=0.01, max_value=2.9), st.floats(min_value=0, max_value=1e9)),
    min_size=1,
    max_size=30,
)


@given(steps)
def test_a_rate_lies_between_the_slowest_and_the_fastest_interval(
    intervals: list[tuple[float, float]],
) -> None:
    rate, at, counter = after((0, 0)), 0.0, 0.0
    for seconds, speed in intervals:
        at += seconds
        counter += seconds * speed
        rate = then(rate, counter, at)
    slowest, fastest = min(s for _, s in intervals), max(s for _, s in intervals)
    for mean in (rate.current, rate.average):
        assert mean is not None
        assert slowest * (1 - 1e-6) - 1 <= mean <= fastest * (1 + 1e-6) + 1


@given(st.floats(min_value=0, max_value=1e12), st.lists(st.floats(min_value=0, max_value=1e12), max_size=20))
def test_no_sequence_of_counters_gives_a_negative_rate(first: float, rest: list[float]) -> None:
    rate = after(*((float(second), value) for second, value in enumerate([first, *rest])))
    assert (rate.current or 0) >= 0
    assert (rate.average or 0) >= 0


shown = st.one_of(st.none(), st.floats(min_value=0, max_value=1e9))
samples = st.lists(st.tuples(st.floats(min_value=0.01, max_value=5), shown, shown), max_size=12)


@given(samples)
def test_counters_looked_at_together_are_folded_as_each_by_itself(
    pairs: list[tuple[float, float | None, float | None]],
) -> None:
    """Side by side as counters of one element, and below each other as elements of one target."""
    beside, below, at = unseen(1, 2), unseen(2, 1), 0.0
    alone = [unseen(1, 1), unseen(1, 1)]
    for seconds, *shown in pairs:
        at += seconds
        beside = observe(beside, row(*shown), at, WINDOWS)
        below = observe(below, row(*shown).T, at, WINDOWS)
        alone = [observe(state, row(value), at, WINDOWS) for state, value in zip(alone, shown, strict=True)]
    for number, folded in enumerate(alone):
        for mine, side, down in (
            (folded.current_means(), beside.current_means(), below.current_means()),
            (folded.average_means(), beside.average_means(), below.average_means()),
        ):
            np.testing.assert_array_equal(mine[0, 0], side[0, number])
            np.testing.assert_array_equal(mine[0, 0], down[number, 0])


def test_an_element_that_starts_again_leaves_its_neighbour_alone() -> None:
    rates = observe(unseen(2, 1), np.array([[0.0], [0.0]]), 1.0, WINDOWS)
    rates = observe(rates, np.array([[10.0], [20.0]]), 2.0, WINDOWS)
    rates = restarted(rates, np.array([True, False]))
    rates = observe(rates, np.array([[999.0], [50.0]]), 3.0, WINDOWS)
    (again,), (on,) = rates.current_means()
    assert np.isnan(again)
    assert 20 < on < 30
    assert rates.average_means()[0, 0] == 10.0


def test_only_the_counters_known_to_be_reset_count_from_zero() -> None:
    first = observe(unseen(2, 1), np.array([[100.0], [100.0]]), 0.0, WINDOWS)
    after = observe(first, np.array([[150.0], [150.0]]), 1.0, WINDOWS, np.array([True, False]))
    assert after.current_means()[:, 0].tolist() == [150.0, 50.0]


def test_every_number_of_a_reading_has_its_column() -> None:
    named = {"device", "read_only", "degraded", "no_create", "note", "server_queue"}
    fields = [name for name in Reading.__slots__ if name not in named]
    assert len(numbers_of(Reading("d"))) == len(fields) + 2
    for number, name in enumerate(fields):
        row = numbers_of(replace(Reading("d"), **{name: 1.0 + number}))  # type: ignore[arg-type]
        assert [each for each in row if each is not None] == [1.0 + number]
