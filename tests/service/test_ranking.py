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
    rows = [spread(np.array(streams), np.array(capability), expected, lot) for lot in lots]
    return [rows.count(row) for row in range(len(streams))]


def test_fresh_knowledge_takes_only_the_least_loaded() -> None:
    assert counted([2.0, 0.4, 1.0, 0.9], [1.0] * 4, 0.0) == [0, 500, 0, 500]


def test_old_knowledge_comes_near_a_draw_by_capability() -> None:
    assert counted([2.0, 0.0], [1.0, 3.0], 10_000.0) == pytest.approx([250, 750], abs=2)


def test_in_between_all_are_filled_to_one_level() -> None:
    assert counted([0.0, 1.0, 5.0], [1.0, 1.0, 1.0], 2.0) == pytest.approx([667, 333, 0], abs=1)
