"""The load model, branch by branch, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from ses_service.policies import Policies
from ses_service.prediction import (
    in_doubt,
    predicted_share,
    unseen_share,
    utilisation_of,
)

NAN = float("nan")


def share(
    capability: float,
    rate: float,
    depth: float = NAN,
    at: float = 0,
    since: float = 0,
    ended: float = 0,
    read: float = 0,
    back: float = 0,
) -> float:
    used = float(np.minimum(1.0, rate / capability))
    columns = (
        np.array([value], dtype=float) for value in (capability, used, depth, at, since, ended, read, back)
    )
    return float(predicted_share(*columns, Policies())[0])


@pytest.mark.parametrize(
    ("promise", "inputs", "expected"),
    [
        ("idle: everything", {"rate": 0}, 100),
        ("others at 40%: the fair share beside them", {"rate": 40}, 100 / 1.4),
        ("others at 96%: still a fair share", {"rate": 96}, 100 / 1.96),
        ("saturated without depth: one and a half streams", {"rate": 100}, 100 / 2.5),
        ("exactly at the limit: at least one active", {"rate": 97}, 100 / 2),
        ("more than nominal is saturated", {"rate": 150}, 100 / 2.5),
        ("ours open but idle are not active", {"rate": 0, "at": 5}, 100),
        ("ours open and little used: what is left beats 1.5 u", {"rate": 20, "at": 5}, 80),
        ("ours open at 80%: 1.5 u = 1.2", {"rate": 80, "at": 5}, 100 / 2.2),
        ("ours saturate: L + 0.35", {"rate": 100, "at": 3}, 100 / 4.35),
        ("ours saturated and ended since: less active", {"rate": 100, "at": 3, "ended": 2}, 100 / 3.35),
        (
            "not saturated, two of three ended: as much less",
            {"rate": 60, "at": 3, "ended": 2},
            100 / (1 + 0.9 * 2.35 / 3.35),
        ),
        (
            "all of ours ended: what others may do is left",
            {"rate": 80, "at": 1, "ended": 1},
            100 / (1 + 1.2 * 0.85 / 1.35),
        ),
        ("more ended than active: never below none", {"rate": 100, "at": 1, "ended": 5}, 100),
        ("ended for good where readers count", {"rate": 100, "at": 3, "ended": 2, "back": 1}, 100 / 2.35),
        ("a reader of ours is done: one of the others less", {"rate": 100, "depth": 3, "read": 1}, 100 / 3),
        ("no more readers end than there were others", {"rate": 100, "depth": 1, "at": 1, "read": 2}, 50),
        ("placed since the sample: counted in full", {"rate": 0, "since": 3}, 25),
        ("placed since, beside others", {"rate": 40, "since": 1}, 100 / 2.4),
        ("visible queue of others: six of eight", {"rate": 100, "depth": 8, "at": 2}, 100 / 9),
        ("visible queue below ours counts no others", {"rate": 100, "depth": 1, "at": 2}, 100 / 3),
        ("visible queue, little used: 1.5 u", {"rate": 10, "depth": 8}, 90),
        ("visible empty queue at the limit: at least one", {"rate": 100, "depth": 0}, 100 / 2),
        ("queue hidden above the device: as if busy with u", {"rate": 95, "depth": 0.1}, 100 / 1.95),
    ],
)
def test_share_follows_the_load_model(promise: str, inputs: dict[str, float], expected: float) -> None:
    assert share(100, **inputs) == pytest.approx(expected), promise


def test_unknown_inputs_give_an_unknown_share() -> None:
    assert np.isnan(share(NAN, 10))
    assert np.isnan(share(100, NAN))


def test_no_visible_depth_at_all_is_the_same_as_none_for_each() -> None:
    capability, used = np.array([100.0, 100.0]), np.array([1.0, 0.3])
    zero, depth = np.zeros(2), np.full(2, NAN)
    with_column = predicted_share(capability, used, depth, zero, zero, zero, zero, zero, Policies())
    without = predicted_share(capability, used, None, zero, zero, zero, zero, zero, Policies())
    assert with_column.tolist() == without.tolist()


@pytest.mark.parametrize(
    ("promise", "rates", "expected"),
    [
        ("readers and writers share one device", (30, 20), 0.3 + 0.4),
        ("never more than all of it", (80, 40), 1.0),
        ("a direction that is not measured is unused", (NAN, 20), 0.4),
        ("nothing measured is unknown", (NAN, NAN), NAN),
    ],
)
def test_utilisation_is_of_the_whole_device(
    promise: str, rates: tuple[float, float], expected: float
) -> None:
    reading, writing = (np.array([float(rate)]) for rate in rates)
    used = utilisation_of(reading, writing, np.array([100.0]), np.array([50.0]))
    assert used[0] == pytest.approx(expected, nan_ok=True), promise


def test_an_unseen_element_shares_with_the_ledger_and_an_assumed_stream() -> None:
    capability, open_now = np.array([100.0]), np.array([1.0])
    assert unseen_share(capability, open_now, 0.0).tolist() == [50.0]
    assert unseen_share(capability, open_now, 1.0).tolist() == [pytest.approx(100 / 3)]


@pytest.mark.parametrize(
    ("promise", "share_without", "doubt", "sure", "expected"),
    [
        ("no doubt: as it is", 100, 0, 50, 100),
        ("one that may be there, and nothing surely idle: as good as the best", 100, 1, 50, 50),
        ("one that may be there beside an idle element: as good as that", 100, 1, 100, 100),
        ("with it no worse than it can be", 50, 1, 20, 100 / 3),
        ("without it no better than it can be", 50, 1, 80, 50),
        ("unknown stays unknown", NAN, 1, 50, NAN),
    ],
)
def test_a_doubt_makes_no_difference(
    promise: str, share_without: float, doubt: float, sure: float, expected: float
) -> None:
    found = in_doubt(np.array([share_without]), np.array([100.0]), np.array([doubt]), sure)
    assert found == pytest.approx([expected], nan_ok=True), promise
