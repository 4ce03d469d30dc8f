"""Steering a union: what it reaches, and the smallest live run of every kind of client."""

import tempfile

import pytest
from ses.demo.interrupts import Interrupts
from ses_experiment.steer import Plan, Reached, Round, measure, reached


def test_gain_is_compared_with_the_librarys_on_this_node():
    seconds = {("daemon", "plain"): 4.0, ("daemon", "library"): 2.0, ("daemon", "steered"): 3.0,
               ("nfs", "plain"): 5.0, ("nfs", "steered"): 3.0}  # fmt: skip
    rounds = [Round(n, *arm, 10, s + n, 0.0) for n in (-1, 1) for arm, s in seconds.items()]
    assert reached(rounds, "daemon") == Reached("daemon", 4.0, 3.0, 2.0, 0.5)
    assert reached(rounds, "nfs").share == pytest.approx(0.8)


@pytest.mark.long
@pytest.mark.root
def test_each_kind_of_client_writes_files_and_nothing_is_left(traces, monkeypatch):
    """Programs of the node, containers of Podman, and clients_of_an_nfs_server."""
    monkeypatch.setattr(tempfile, "tempdir", str(traces.base))
    with Interrupts() as interrupts:
        rounds, _ = measure(Plan(rounds=1, seconds=8), interrupts, lambda _step: None)
    assert {(round_.client, round_.arm) for round_ in rounds} == {*Plan().arms()}
    assert all(round_.files > 0 for round_ in rounds)
    assert traces.files() == traces.mounts() == traces.processes() == traces.rules_of_detached_devices() == []
