"""The order of a node's own: every row once, fast ones first, and each node begins elsewhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_service.decision.node_order import order_of_own, start_of


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=80), st.floats(0, 1, exclude_max=True))
def test_every_row_comes_once(capability: list[float], start: float) -> None:
    assert sorted(order_of_own(np.array(capability), start).tolist()) == list(range(len(capability)))


def test_faster_rows_are_first_for_more_nodes() -> None:
    starts = [start_of(number) for number in range(400)]
    firsts = Counter(int(order_of_own(np.array([1.0, 3.0]), start)[0]) for start in starts)
    assert firsts[1] / len(starts) == pytest.approx(0.75, abs=0.02)


def test_nodes_do_not_follow_each_other() -> None:
    orders = [order_of_own(np.ones(64), start_of(number)).tolist() for number in range(64)]
    assert len({order[0] for order in orders}) >= 40
    followed = Counter((order[0], order[1]) for order in orders)
    assert max(followed.values()) <= 4
