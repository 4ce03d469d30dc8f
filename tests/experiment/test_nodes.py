"""What a node is worth: jobs of a real Slurm, and the smallest run of every arm."""

import tempfile

import pytest
from ses.demo.interrupts import Interrupts
from ses_experiment.papers.qstorman.nodes import ARMS, NODES, Plan, Round, measure


def test_jobs_away_from_others_are_counted():
    round_ = Round(1, "ranked", "west", (1.0, 1.0, 1.0), ("n1", "n3", "n4"), 0.0)
    assert round_.avoided == 2


@pytest.mark.long
@pytest.mark.root
def test_every_arm_runs_its_jobs_on_nodes_and_nothing_is_left(traces, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(traces.base))
    with Interrupts() as interrupts:
        rounds, known = measure(Plan(rounds=1, jobs=2, size=4), interrupts, lambda _step: None)
    assert {round_.arm for round_ in rounds} == set(ARMS)
    assert all(len(round_.seconds) == 2 and set(round_.nodes) <= set(NODES) for round_ in rounds)
    assert known["machine"]["slurmctld"]
    assert traces.files() == traces.mounts() == traces.processes() == traces.rules_of_detached_devices() == []
