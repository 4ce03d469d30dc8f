"""Steering a union: what it reaches, and the smallest live run of every kind of client."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from patience import wait_for_answer, wait_until
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import stop
from ses_experiment.steer import Plan, Reached, Round, measure, reached

SES = Path(sys.executable).parent / "ses"


def test_gain_is_compared_with_the_librarys_on_this_node():
    seconds = {("daemon", "plain"): 4.0, ("daemon", "library"): 2.0, ("daemon", "steered"): 3.0,
               ("nfs", "plain"): 5.0, ("nfs", "steered"): 3.0}  # fmt: skip
    rounds = [Round(n, *arm, 10, s + n, 0.0) for n in (-1, 1) for arm, s in seconds.items()]
    assert reached(rounds, "daemon") == Reached("daemon", 4.0, 3.0, 2.0, 0.5)
    assert reached(rounds, "nfs").share == pytest.approx(0.8)


def test_of_no_gain_nothing_is_a_part():
    seconds = {("daemon", "plain"): 4.0, ("daemon", "library"): 4.0, ("daemon", "steered"): 3.0}
    assert reached([Round(1, *arm, 10, s, 0.0) for arm, s in seconds.items()], "daemon").share is None


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


@pytest.mark.long
@pytest.mark.root
def test_containers_that_run_when_it_is_stopped_are_gone(traces, tmp_path):
    log = tmp_path / "log"
    argv = [SES, "experiment", "steer", "--clients", "container", "--rounds", "1", "--seconds", "60"]
    with log.open("wb") as output:
        run = subprocess.Popen(argv, stderr=output, env={**os.environ, "TMPDIR": str(traces.base)})

    def containers() -> bool:
        return any(b"/proc/uptime" in process.read_bytes() for process in commands("sh"))

    try:
        wait_for_answer(run, log, lambda: "container, " in log.read_text() and containers(), 240)
        run.send_signal(signal.SIGINT)
        assert run.wait(120) == 128 + signal.SIGINT
    finally:
        stop(run, 120.0)  # killed, it would undo nothing
    wait_until(lambda: not containers())
    assert traces.left(log) == []
    assert not list(Path("/run").glob("ses-podman-*"))


def commands(name):
    """The command lines of the processes of a name, as files."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text().strip() == name:
                yield process / "cmdline"


def test_programs_that_are_missing_are_named_before_anything_is_made(monkeypatch):
    monkeypatch.setattr("ses_experiment.steer.shutil.which", lambda name: None if name == "podman" else name)
    with (
        pytest.raises(DemoError, match=r"^podman not there: apt-get install podman runc"),
        Interrupts() as stop,
    ):
        measure(Plan(), stop, lambda _step: None)
