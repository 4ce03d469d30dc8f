"""How many placements a second there are: of late, of others, and whatever order they are told in."""

import pytest
from ses_state._state import Recent, SystemArrivals

FADES = 5.0


def test_a_steady_rate_is_found_and_fades() -> None:
    recent = Recent()
    for number in range(1000):
        recent.count(number / 10)
    assert recent.rate(100.0) == pytest.approx(10, rel=0.05)
    assert recent.rate(100.0 + FADES) == pytest.approx(10 / 2.718, rel=0.05)


def test_a_burst_shows_at_once() -> None:
    recent = Recent()
    for _ in range(500):
        recent.count(1000.0)
    assert recent.rate(1000.1) > 90


def test_what_is_reported_late_weighs_less() -> None:
    early, late = Recent(), Recent()
    for at in (10.0, 20.0):
        early.count(at)
    for at in (20.0, 10.0):
        late.count(at)
    assert early.rate(20.0) == pytest.approx(late.rate(20.0))


def test_own_placements_are_not_those_of_others_and_idle_nodes_are_forgotten() -> None:
    arrivals = SystemArrivals()
    arrivals.count("u", "n1", 100.0)
    arrivals.count("u", "n2", 100.0)
    assert arrivals.of_other_nodes("u", "n1", 100.0) == pytest.approx(1 / FADES)
    assert arrivals.of_other_nodes("v", "n1", 100.0) == 0
    arrivals.forget(200.0)
    assert arrivals.nodes == 0
