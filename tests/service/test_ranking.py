"""The first ranks without sorting everything are those a full sort gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_service.ranking import first_rows, lot_among, mixed, order_of_own, spread, still_open

columns = st.integers(1, 40).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=1, max_size=4)
)


@given(columns, st.integers(0, 45))
def test_first_rows_agree_with_a_full_sort(keys: list[list[int]], count: int) -> None:
    expected = sorted(range(len(keys[0])), key=lambda row: tuple(key[row] for key in keys))
    found = first_rows([np.array(key, dtype=float) for key in keys], count).tolist()
    assert found == (expected[:count] if count else expected)


def test_hashes_of_64_bits_are_compared_exactly() -> None:
    close = np.array([2**63 + 1, 2**63], dtype=np.uint64)
    assert first_rows([np.zeros(2), close], 1).tolist() == [1]
    assert first_rows([np.zeros(2), close], 0).tolist() == [1, 0]


def test_mixing_depends_on_hash_and_salt_alone() -> None:
    hashes = np.array([1, 2, 3], dtype=np.uint64)
    assert mixed(hashes, 7).tolist() == mixed(hashes, 7).tolist()
    assert mixed(hashes, 7).tolist() != mixed(hashes, 8).tolist()
    assert len(set(mixed(np.arange(1000, dtype=np.uint64), 5).tolist())) == 1000


LOTS = [(number + 0.5) / 1000 for number in range(1000)]


def counted(own: list[float], others: list[float], capability: list[float], unheard: float) -> list[int]:
    """How often each row is chosen, over all lots."""
    able = np.array(capability)
    rows = [spread(order_of_own(able, lot), np.array(own), np.array(others), able, unheard) for lot in LOTS]
    return [rows.count(row) for row in range(len(own))]


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=90), st.floats(0, 1, exclude_max=True))
def test_an_order_has_every_row_once_however_narrow_it_is(capability: list[float], lot: float) -> None:
    assert sorted(order_of_own(np.array(capability), lot).tolist()) == list(range(len(capability)))


names = st.lists(st.text("0123456789abcdef", min_size=16, max_size=16), min_size=2, max_size=40, unique=True)


def lots(services: list[str]) -> dict[str, float]:
    """The lot of each when all have heard of all, in whatever order."""
    return {name: lot_among(name, {*services} - {name}) for name in services}


@given(names)
def test_lots_of_deciders_who_hear_of_each_other_lie_evenly_apart(services: list[str]) -> None:
    expected = [(number + 0.5) / len(services) for number in range(len(services))]
    assert sorted(lots(services).values()) == pytest.approx(expected)


@given(names)
def test_a_decider_that_comes_or_goes_moves_each_lot_by_less_than_their_distance(services: list[str]) -> None:
    more, fewer = lots(services), lots(services[1:])
    assert max(abs(more[name] - lot) for name, lot in fewer.items()) < 1 / len(services)


def test_a_decider_alone_has_a_lot_too() -> None:
    assert 0 <= lot_among("a", ()) < 1


def test_an_order_begins_with_fast_rows_in_proportion() -> None:
    firsts = [int(order_of_own(np.array([1.0, 3.0]), lot)[0]) for lot in LOTS]
    assert firsts.count(1) == pytest.approx(750, abs=1)


def test_deciders_whose_lots_lie_apart_begin_apart_and_do_not_follow_each_other() -> None:
    orders = [order_of_own(np.ones(64), (decider + 0.5) / 64).tolist() for decider in range(64)]
    assert [order[0] for order in orders] == list(range(64))
    followed = [pair for order in orders for pair in pairwise(order[:12])]
    assert len(set(followed)) > 0.8 * len(followed), "by equal steps a row is always followed by the same one"


def test_more_rows_than_places_and_slow_ones_are_all_reached_in_the_end() -> None:
    """Each slow row is a 300th part of the line: a decider that goes on comes to it none the less."""
    able = np.array([8.0] * 100 + [0.5] * 100)
    own, order = np.zeros(200), order_of_own(able, 0.3)
    for _ in range(200 * 8):
        own[spread(order, own, np.zeros(200), able, 1000.0)] += 1
    assert own.min() >= 1
    assert own[:100].sum() / own[100:].sum() == pytest.approx(16, rel=0.15)


def test_the_same_lot_gives_the_same_row() -> None:
    able, none = np.ones(40), np.zeros(40)
    found = {spread(order_of_own(able, 0.37), none, none, able, 30.0) for _ in range(5)}
    assert len(found) == 1


def test_with_fresh_word_only_the_least_loaded_are_chosen() -> None:
    assert counted([0.0] * 4, [2.0, 0.0, 1.0, 0.0], [1.0] * 4, 0.0) == [0, 500, 0, 500]


def test_with_old_word_the_first_two_of_the_order_are_all_that_is_looked_at() -> None:
    able, none, others = np.ones(8), np.zeros(8), np.full(8, 9.0)
    order = order_of_own(able, 0.3)
    others[order[2:]] = 0.0
    assert spread(order, none, others, able, 1000.0) == order[0]
    others[order[1]] = 0.0
    assert spread(order, none, others, able, 1000.0) == order[1]
    assert spread(order, none, others, able, 8 / 3) == order[1]
    others[order[1]] = 9.0
    assert spread(order, none, others, able, 8 / 3) == order[2]


def test_far_more_than_others_will_place_is_left_out_however_old_the_word_is() -> None:
    assert counted([0.0] * 4, [0.0, 100.0, 100.0, 0.0], [1.0] * 4, 30.0)[1:3] == [0, 0]


@pytest.mark.parametrize(("unheard", "better"), [(4.0, 0.5), (5.6, 0.7), (8.0, 0.9), (800.0, 0.9)])
def test_the_first_is_kept_unless_another_is_better_by_what_is_unheard(unheard: float, better: float) -> None:
    able, none, others = np.full(8, 5e8), np.zeros(8), np.zeros(8)
    order = order_of_own(able, 0.6)
    others[order[0]] = better - 0.01
    assert spread(order, none, others, able, unheard) == order[0]
    others[order[0]] = better + 0.01
    assert spread(order, none, others, able, unheard) == order[1]


def test_rows_with_files_of_ones_own_are_passed_over() -> None:
    able, own, others = np.ones(6), np.zeros(6), np.zeros(6)
    order = order_of_own(able, 0.1)
    own[order[:4]] = 1.0
    assert spread(order, own, others, able, 1000.0) == order[4]


def test_a_decider_goes_round_before_it_adds_to_a_stream_of_its_own() -> None:
    own, none, order = np.zeros(8), np.zeros(8), order_of_own(np.ones(8), 0.3)
    for turn in range(24):
        own[spread(order, own, none, np.ones(8), 100.0)] += 1
        assert own.max() - own.min() <= 1, turn


def test_a_decider_gives_faster_rows_more_of_its_own() -> None:
    able, own, none = np.array([3.0, 1.0]), np.zeros(2), np.zeros(2)
    for _ in range(80):
        own[spread(order_of_own(able, 0.1), own, none, able, 1000.0)] += 1
    assert own.tolist() == pytest.approx([60, 20], abs=2)


def test_what_lasted_long_is_likely_to_be_there_and_what_just_began_at_once_is() -> None:
    ages = np.array([-1.0, 0.0, 1.0, 100.0])
    assert still_open(ages, 0.0).tolist() == [1.0] * 4
    assert still_open(ages, 1.0) == pytest.approx([0.1 / 1.1, 0.1 / 1.1, 1.1 / 2.1, 100.1 / 101.1])
