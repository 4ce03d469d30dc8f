"""Users with unequal needs: what is attained, and the smallest live run of every arm."""

import tempfile

import pytest
from ses.demo.interrupts import Interrupts
from ses_experiment.commands.options import ends
from ses_experiment.papers.qstorman.needs import (
    BASELINES,
    NEEDS,
    Attained,
    Plan,
    Round,
    attained,
    compared,
    measure,
    more_ahead,
)
from ses_simulate.statistics import interval


def test_what_is_attained_counts_files_and_names_the_worst_user():
    plan = Plan(users=4)
    rates = ((NEEDS[0],), (NEEDS[1] / 2, 2 * NEEDS[1]), (0.98 * NEEDS[2], 0.9 * NEEDS[2]), ())
    plain, other = (Round(1, arm, rates, 0.0) for arm in ("default", "rand"))
    expected = Attained(files=5, met=0.6, nearly=0.8, worst=0.5)
    assert attained(plan, plain) == expected
    assert compared(plan, [other, plain], "rand") == [(expected, expected)]


def test_what_differing_needs_add_is_seen_against_users_who_all_need_the_same():
    plan = Plan(users=2)
    rates = {False: {"default": 17.5, "rand": 1.0}, True: {"default": 8.125, "rand": 8.125}}
    rounds = [
        Round(1, arm, ((rate,), (rate,)), 0.0, alike) for alike in rates for arm, rate in rates[alike].items()
    ]
    assert more_ahead(plan, rounds, "rand") == [1.0]


@pytest.mark.long
@pytest.mark.root
def test_every_arm_writes_files_and_nothing_is_left(traces, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(traces.base))
    plan = Plan(users=4, rounds=1, seconds=10, busy=1.0)
    with Interrupts() as interrupts:
        rounds, _ = measure(plan, interrupts, lambda _step: None)
    assert {round_.arm for round_ in rounds} == {"default", *BASELINES}
    assert all(attained(plan, round_).files > 0 for round_ in rounds)
    assert traces.files() == traces.mounts() == traces.processes() == traces.rules_of_detached_devices() == []


def test_an_interval_of_one_round_has_no_ends_in_json():
    assert ends(interval([0.5])) == {"mean": 0.5, "low": None, "high": None}
