"""Whether files got the rate that was asked for."""

from __future__ import annotations

import math

import pytest
from ses_simulate import hard
from ses_simulate.attainment import Attained


def test_the_mean_rate_of_a_file_decides() -> None:
    attained = Attained()
    attained.note("alice", 10.0, 1000.0, 100.0)
    attained.note("alice", 10.0, 1000.0, 101.0)
    attained.note("bob", 10.0, 1000.0, 125.0)
    attained.note("carol", 20.0, 1000.0, 50.0)
    attained.note("dave", 0.0, 1000.0, 1e6)
    found = attained.result()
    assert (found.met, found.nearly) == (0.5, 1.0)
    assert (found.worst_user, found.worst_vo) == (0.0, pytest.approx(1 / 3))
    assert math.isnan(Attained().result().met)


def test_it_is_measured_where_files_ask_for_a_rate() -> None:
    asked, none = (hard.simulate(hard.Run(name, "ours", 1, 300)) for name in ("needs-0.5", "elements-8"))
    assert 0.8 < asked.attained.met < 1.0
    assert asked.attained.worst_user <= asked.attained.met <= asked.attained.nearly
    assert math.isnan(none.attained.met)


def test_more_requirements_are_met_where_harm_counts() -> None:
    found = {
        rule: [hard.simulate(hard.Run("needs-two", rule, seed, 800)) for seed in range(2)]
        for rule in ("harm", "ours")
    }
    met = {rule: sum(one.attained.met for one in runs) / len(runs) for rule, runs in found.items()}
    slow = {rule: sum(one.mean for one in runs) for rule, runs in found.items()}
    assert met["harm"] > met["ours"] + 0.03
    assert slow["harm"] < 1.08 * slow["ours"]
