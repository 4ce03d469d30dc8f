"""What streams that are there were promised counts when a file comes."""

import numpy as np
import pytest
from core_tables import MB
from ses_core import Kind, Order, Query, defaults, need, table


def two(first: float, second: float) -> np.ndarray:
    """Two elements of these rates in MB/s, with a stream of ours on the first."""
    elements = table(2)
    elements["read_rate"] = elements["write_rate"] = (first * MB, second * MB)
    elements["own"][0] = elements["promises"][0] = 1
    return elements


def weighing() -> np.ndarray:
    """Settings by which what others lose counts as much as what the file lacks."""
    policy = defaults()
    policy["harm_weight"] = 1.0
    return policy


def asking(rate: float, *, hard: bool = False) -> np.ndarray:
    return need((Kind.CURRENT_WRITE, hard, False, rate * MB, 1.0))


def test_a_promise_that_would_be_broken_sends_a_file_elsewhere() -> None:
    elements = two(80, 21)
    query = Query(elements, asking(20), weighing())
    assert query.choose() == 0
    elements["promised"][0] = 70 * MB
    assert query.choose() == 1
    assert query.verdicts["distance"].tolist() == [0, 0]
    assert query.verdicts["harm"] == pytest.approx([1 - 40 / 70, 0])
    assert query.rank_by()[1].tolist() == [Order.FIRST, Order.HARM]


def test_a_promise_that_is_broken_already_counts_as_much() -> None:
    elements = two(100, 30)
    elements["promised"][0] = 200 * MB
    query = Query(elements, need(), weighing())
    query.judge()
    assert query.verdicts["harm"][0] == pytest.approx((100 - 50) / 200)


def test_of_alike_streams_that_lack_all_the_same_none_is_worth_a_longer_queue() -> None:
    """Distance and harm together are alike wherever one more comes, so the order goes on by share."""
    elements = table(3)
    elements["read_rate"] = elements["write_rate"] = 300 * MB
    elements["own"] = elements["promises"] = (1, 2, 3)
    elements["promised"] = 300 * MB
    query = Query(elements, asking(300), weighing())
    assert query.choose() == 0
    assert query.verdicts["distance"] + query.verdicts["harm"] == pytest.approx([1, 1, 1])


def test_it_counts_half_as_it_is_set_at_first() -> None:
    elements = two(80, 21)
    elements["promised"][0] = 70 * MB
    query = Query(elements, asking(20), defaults())
    assert query.choose() == 1
    assert query.verdicts["harm"] == pytest.approx([(1 - 40 / 70) / 2, 0])


def test_a_claim_is_a_promise_of_the_same() -> None:
    elements = table(2)
    elements["read_rate"] = elements["write_rate"] = 100 * MB
    query = Query(elements, asking(60), weighing(), claims=np.array([1, 0], np.uint32))
    assert query.choose() == 1
    assert query.verdicts["harm"] == pytest.approx([1 - 50 / 60, 0])


def test_the_link_of_a_server_breaks_promises_too() -> None:
    elements = two(500, 30)
    elements["server_rate"][0], elements["server_streams"][0] = 100 * MB, 1
    elements["promised"][0] = 70 * MB
    assert Query(elements, asking(20), weighing()).choose() == 1


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_hard_promise_is_not_broken_for_a_soft_need(weight: float) -> None:
    elements = two(100, 1)
    elements["promised"][0] = elements["promised_hard"][0] = 60 * MB
    policy = defaults()
    policy["harm_weight"] = weight
    assert Query(elements, asking(50), policy).choose() == 1
    elements["write_rate"][0] = 50 * MB  # broken already
    assert Query(elements, asking(50), policy).choose() == 0


def test_without_a_weight_it_is_as_if_nobody_had_been_promised_anything() -> None:
    elements, policy = two(80, 21), weighing()
    policy["harm_weight"] = 0
    elements["promised"][0] = 70 * MB
    assert Query(elements, asking(20), policy).choose() == 0
