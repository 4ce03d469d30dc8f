"""What monitoring costs: the smallest run, and nothing is left."""

import tempfile

import pytest
from ses.demo.interrupts import Interrupts
from ses_experiment.papers.qstorman.smed import Plan, Slice, measure


def test_what_is_lost_is_a_part_of_what_was_done_without_the_monitor():
    assert Slice(watched=90.0, alone=100.0, processor=0.1, load=1.0).lost == pytest.approx(0.1)


@pytest.mark.long
@pytest.mark.root
def test_files_are_made_with_the_monitor_and_without_it(traces, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(traces.base))
    with Interrupts() as interrupts:
        slices, _ = measure(Plan(slices=2, seconds=1.0, programs=2), interrupts, lambda _step: None)
    assert all(slice_.watched > 0 and slice_.alone > 0 for slice_ in slices)
    assert max(slice_.processor for slice_ in slices) > 0
    assert traces.files() == traces.mounts() == traces.processes() == traces.rules_of_detached_devices() == []
