"""What cannot be measured is said in a sentence: no traceback, and a status that is not 0."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import wait_until
from ran import ran

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    "words",
    [
        ["achieved_rates.py", "--rounds", "-1"],
        ["achieved_rates.py", "--pairs", "0"],
        ["agent_load.py", "--rate", "0"],
        ["agent_load.py", "--seconds", "0"],
        ["agents_return.py", "--agents", "0"],
        ["copy_files.py", "--rounds", "0"],
        ["faults.py", "--faults", "0"],
        ["files_report.py", "--files", "0"],
        ["files_report.py", "--rounds", "0"],
        ["knowledge/stores.py", "--rounds", "0"],
        ["knowledge/stores.py", "--elements", "0"],
        ["lustre_create.py", "--server-us", "-1"],
        ["monitor/remote_reads.py", "--servers", "0"],
        ["monitor/remote_reads.py", "--period-ms", "0"],
        ["monitor/scale.py", "--seconds", "nan"],
        ["monitor/scale.py", "--elements", "0"],
        ["open_files.py", "--rounds", "0"],
        ["open_files.py", "--programs", "0"],
        ["places.py", "--commands", "0"],
        ["places.py", "--choices", "99"],
        ["profile_cost.py", "--pairs", "0"],
        ["several_services.py", "--rounds", "0"],
        ["soak.py", "--seconds", "0"],
        ["streaming_forecast.py", "--runs", "0"],
        ["attackers", "--seconds", "0"],
    ],
    ids=" ".join,
)
def test_a_number_that_gives_no_figure_is_refused(words):
    done = ran([sys.executable, BENCHMARKS / words[0], *words[1:]], code=2)
    assert f"argument {words[1]}: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["achieved_rates.py"],
        ["agent_load.py"],
        ["attackers"],
        ["copy_files.py", "--mount", "--rounds", "1"],
        ["faults.py"],
        ["open_files.py"],
        ["soak.py"],
        ["streaming_forecast.py"],
        ["supervise.py"],
    ],
    ids=lambda words: words[0],
)
def test_who_may_not_mount_is_told_so(words):
    """As a user without rights, also where the tests run as root."""
    nobody = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if os.geteuid() == 0 else []
    )
    done = ran([*nobody, sys.executable, BENCHMARKS / words[0], *words[1:]], code=1)
    assert "needs root" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_build_that_is_not_there_is_named(tmp_path):
    done = ran([sys.executable, BENCHMARKS / "share_values.py", "--build", tmp_path / "none"], code=1)
    assert "share_values.c does not compile" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_way_that_is_not_there_is_no_row_of_another_one():
    words = ["monitor/remote_reads.py", "--servers", "1", "--seconds", "0.1", "--providers", "nothing"]
    done = ran([sys.executable, BENCHMARKS / words[0], *words[1:]], code=1)
    assert "cannot be read one-sidedly by 'nothing'" in done.stderr
    assert "pull" in done.stdout


def test_one_that_is_interrupted_says_nothing_and_ends_with_130():
    command = [sys.executable, BENCHMARKS / "profile_cost.py", "--seconds", "60"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        wait_until(lambda: running.poll() is not None or children.read_text().strip(), "it runs a program")
        running.send_signal(signal.SIGINT)
        said = running.communicate()[1]
    assert running.returncode == 130
    assert "Traceback" not in said
