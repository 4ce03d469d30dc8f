"""The order of a node's own: every row once, fast ones first, and each node begins elsewhere."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ses_service.decision.node_order import first_of_own, order_of_own, start_of


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


def test_of_many_rows_nodes_together_have_all_alike_and_those_with_the_fewest_streams() -> None:
    capability, streams = np.ones(1000), np.zeros(1000)
    starts = [start_of(number) for number in range(64)]
    together = Counter(row for at in starts for row in first_of_own(capability, streams, at, 64).tolist())
    assert len(together) == 1000
    assert set(together.values()) <= {3, 4, 5, 6}
    used = first_of_own(capability, streams, 0.3, 64)
    assert used.tolist() == first_of_own(capability, streams + 0.4, 0.3, 64).tolist(), "parts are alike"
    streams[used[:40]] = 1
    instead = first_of_own(capability, streams, 0.3, 64)
    assert len(set(instead.tolist())) == 64
    assert not streams[instead].any()
    assert set(used[40:].tolist()) < set(instead.tolist())


def test_of_as_few_rows_as_are_wanted_all_come() -> None:
    for size in (0, 1, 64):
        order = first_of_own(np.ones(size), np.arange(size, dtype=np.float64), 0.3, 64)
        assert sorted(order.tolist()) == list(range(size))


def test_one_row_that_is_described_as_very_fast_is_not_all_that_a_node_gets() -> None:
    capability = np.ones(1000)
    capability[7] = 1e12
    order = first_of_own(capability, np.zeros(1000), 0.3, 64).tolist()
    assert len(set(order)) == 64
    assert order[0] == 7
