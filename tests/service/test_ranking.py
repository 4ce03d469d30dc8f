"""The first ranks without sorting everything are those a full sort gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_service.ranking import first_rows, mixed, spread

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


def counted(streams: list[float], capability: list[float], expected: float) -> list[int]:
    lots = [(number + 0.5) / 1000 for number in range(1000)]
    none = np.zeros(len(streams))
    rows = [spread(np.array(streams), np.array(capability), expected, lot, none) for lot in lots]
    return [rows.count(row) for row in range(len(streams))]


def test_fresh_knowledge_takes_only_the_least_loaded() -> None:
    assert counted([2.0, 0.4, 1.0, 0.9], [1.0] * 4, 0.0) == [0, 500, 0, 500]


def test_old_knowledge_comes_near_a_draw_by_capability() -> None:
    assert counted([2.0, 0.0], [1.0, 3.0], 10_000.0) == pytest.approx([250, 750], abs=2)


def test_in_between_all_are_filled_to_one_level() -> None:
    assert counted([0.0, 1.0, 5.0], [1.0, 1.0, 1.0], 2.0) == pytest.approx([667, 333, 0], abs=1)


def test_deciders_with_lots_apart_begin_on_rows_of_their_own_however_old_the_streams() -> None:
    streams, alike, none = np.array([0.0, 2.0, 1.0, 0.0, 3.0]), np.ones(5), np.zeros(5)
    found = [spread(streams, alike, 30.0, (decider + 0.5) / 5, none) for decider in range(5)]
    assert found == [0, 1, 2, 3, 4]


def test_far_more_than_others_will_place_is_left_out_however_old_it_is() -> None:
    assert counted([0.0, 100.0, 0.0], [1.0, 1.0, 1.0], 30.0) == [500, 0, 500]


def test_a_decider_goes_round_before_it_adds_to_a_stream_of_its_own() -> None:
    own = np.zeros(8)
    for turn in range(24):
        own[spread(np.zeros(8), np.ones(8), 100.0, 0.3, own)] += 1
        assert own.max() - own.min() <= 1, turn


def test_a_decider_gives_faster_rows_more_of_its_own() -> None:
    own = np.zeros(2)
    for _ in range(80):
        own[spread(np.zeros(2), np.array([3.0, 1.0]), 1000.0, 0.1, own)] += 1
    assert own.tolist() == pytest.approx([60, 20], abs=2)
