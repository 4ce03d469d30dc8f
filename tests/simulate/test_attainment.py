"""Whether files got the rate that was asked for."""

import math
from dataclasses import replace

import pytest
from ses_core import Kind
from ses_simulate import hard, table1
from ses_simulate.attainment import Attained
from ses_simulate.scenarios import SCENARIOS


def test_the_mean_rate_of_a_file_decides() -> None:
    attained = Attained()
    attained.note("alice", 10.0, 1000.0, 100.0)
    attained.note("alice", 10.0, 1000.0, 101.0)
    attained.note("bob", 10.0, 1000.0, 125.0)
    attained.note("carol", 20.0, 1000.0, 50.0)
    attained.note("dave", 0.0, 1000.0, 1e6)
    result = attained.result()
    assert (result.met, result.nearly) == (0.5, 1.0)
    assert (result.worst_user, result.worst_vo) == (0.0, pytest.approx(1 / 3))
    assert math.isnan(Attained().result().met)


def test_it_is_measured_where_files_ask_for_a_rate() -> None:
    asked, none = (hard.simulate(hard.Run(name, "ours", 1, 300)) for name in ("needs-0.5", "elements-8"))
    assert 0.8 < asked.attained.met < 1.0
    assert asked.attained.worst_user <= asked.attained.met <= asked.attained.nearly
    assert math.isnan(none.attained.met)


def test_more_requirements_are_met_where_harm_counts() -> None:
    by_rule = {
        rule: [hard.simulate(hard.Run("needs-two", rule, seed, 800)) for seed in range(2)]
        for rule in ("ours", "no-harm")
    }
    met = {rule: sum(run.attained.met for run in runs) / len(runs) for rule, runs in by_rule.items()}
    slow = {rule: sum(run.mean for run in runs) for rule, runs in by_rule.items()}
    assert met["ours"] > met["no-harm"] + 0.03
    assert slow["ours"] < 1.08 * slow["no-harm"]


def test_users_who_all_ask_for_more_than_there_is_take_no_longer() -> None:
    """What streams lose together is the same wherever one more of their like comes."""
    times = {
        rule: [
            table1.simulate(table1.Run("none", 10, rule, "random", 10, seed)).supported for seed in range(2)
        ]
        for rule in ("ours", "no-harm")
    }
    assert times["ours"] == times["no-harm"]


LONELY = replace(SCENARIOS["needs-0.5"], rho=0.01, regular=True, files=40, sigma=0.0)  # 15 to 90 MB/s


@pytest.mark.parametrize("rule", ["ours", "random"])
def test_a_program_that_takes_only_what_it_needs_writes_at_that_rate(rule: str) -> None:
    at_full_speed, modest = (hard.play(replace(LONELY, modest=limited), rule, 1) for limited in (False, True))
    assert modest.attained.met == at_full_speed.attained.met
    needs = [need for user in range(8) for need in [LONELY.needs[user % 4]] if user >= 4]
    slowest = max(LONELY.rates or ()) / min(needs)
    assert at_full_speed.mean < modest.mean < slowest


def test_files_whose_rate_of_reading_counts_are_read_back() -> None:
    kinds = Kind.CURRENT_WRITE, Kind.CURRENT_READ
    lonely = [hard.play(replace(LONELY, kind=kind), "no-kept", 1) for kind in kinds]
    assert [played.attained.met for played in lonely] == [1.0, 1.0]
    assert lonely[0].mean == pytest.approx(lonely[1].mean), "the reading alone is measured"
    busy = replace(SCENARIOS["needs-0.5"], files=300)
    written, read = (hard.play(replace(busy, kind=kind), "ours", 1) for kind in kinds)
    assert read.mean > written.mean, "elements are twice as busy"


def test_a_hard_need_that_nothing_can_meet_is_left_to_the_union() -> None:
    soft, strict = (
        hard.play(replace(LONELY, needs=(100e6,), hard=is_hard), "ours", 1) for is_hard in (False, True)
    )
    assert soft.mean == soft.managed == pytest.approx(1.0), "on the fastest element"
    assert strict.mean > strict.managed == pytest.approx(1.0)
