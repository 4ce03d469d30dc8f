"""Real programs, placed and not: the smallest run of both, and nothing is left."""

import tempfile

import pytest
from ses.demo.interrupts import Interrupts
from ses_experiment.papers.qstorman.program_rows import ROWS, make_inputs
from ses_experiment.papers.qstorman.programs import Plan, measure


@pytest.mark.long
@pytest.mark.root
def test_every_program_ends_well_in_every_arm(traces, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(traces.base))
    with Interrupts() as interrupts:
        rounds, _ = measure(Plan(rounds=1, baselines=("rand",)), interrupts, lambda _step: None)
    assert {round_.arm for round_ in rounds} == {"default", "rand"}
    assert all(len(round_.seconds) == len(ROWS) and min(round_.seconds) > 0 for round_ in rounds)
    assert traces.files() == traces.mounts() == traces.processes() == traces.rules_of_detached_devices() == []


def test_what_is_missing_is_named_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Exception, match=r"apt-get install .*samtools"):
        make_inputs(tmp_path / "inputs", 1)
