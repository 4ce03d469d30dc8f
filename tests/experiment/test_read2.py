"""The paths of READ2 move the same blocks, and their costs are compared side by side."""

import json
import os
import signal
from array import array
from pathlib import Path

import pytest
from click.testing import CliRunner
from invoked import invoked
from ses.cli import main
from ses_experiment.papers.read2 import (
    ALONE,
    ARMS,
    BLOCK_BYTES,
    COLUMNS,
    DISK,
    NOTHING,
    ROWS,
    Run,
    compare,
    cost,
    lines,
    transpose,
)

NOBODY = 65534


def test_a_block_is_transposed_exactly() -> None:
    block = array("d", range(ROWS * COLUMNS))
    result = array("d", bytes(BLOCK_BYTES))
    transpose(block, result)
    assert all(result[c * ROWS + r] == block[r * COLUMNS + c] for r in range(ROWS) for c in range(COLUMNS))


def test_each_path_is_run_at_each_rate_and_nothing_stays(tmp_path: Path) -> None:
    options = ("--size", "2", "--rounds", "2", "--allowed", "400", "--directory", str(tmp_path), "--json")
    result = invoked(main, ["experiment", "read2", *options])
    answer = json.loads(result.stdout)
    assert {(line["arm"], line["allowed"]) for line in answer["lines"]} == {
        (arm, rate) for arm in ARMS for rate in (0.0, 400e6)
    }
    assert all(line["rate"] > 0 and line["cpu_per_byte"] >= 0 for line in answer["lines"])
    assert answer["cpu_seconds_per_gb"].keys() == set(ARMS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("goes_first", [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_a_filter_reads_meanwhile_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_first: bool
) -> None:
    """What root runs goes before all else on the machine: other tests would stand still."""
    if not goes_first:
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    options = ("--filter", "--size", "2", "--rounds", "1", "--allowed", "400", "--directory", str(tmp_path))
    picture = tmp_path / "figures.svg"
    command = ["experiment", "read2", *options, "--plot"]
    assert CliRunner().invoke(main, [*command, str(tmp_path / "figures.txt")]).exit_code == 2
    result = invoked(main, [*command, str(picture), "--json"])
    assert "Figure 4" in picture.read_text()
    assert all(line["filtered"] > 0 for line in json.loads(result.stdout)["lines"])
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_nothing_stays_when_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> Run:
        os.kill(os.getpid(), signal.SIGTERM)
        return Run(NOTHING, 0.0, 1.0, 1.0)

    monkeypatch.setattr("ses_experiment.papers.read2._run", stopped)
    result = invoked(
        main,
        ["experiment", "read2", "--size", "2", "--directory", str(tmp_path), "--allowed", "100"],
        code=128 + signal.SIGTERM,
    )
    assert "Stopped; everything that was made is removed again." in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_medians_are_told_apart_by_path_and_rate() -> None:
    runs = [
        *(Run(NOTHING, 0.0, rate, cpu) for rate, cpu in ((1.0, 4.0), (9.0, 6.0), (3.0, 5.0))),
        Run(NOTHING, 7.0, 7.0, 50.0),
        Run(DISK, 0.0, 2.0, 3.0),
        Run(ALONE, 0.0, 2.0, 1.0),
    ]
    (first, second, *_) = lines(runs)
    assert (first.arm, first.allowed, first.rate, first.cpu_per_byte) == (NOTHING, 0.0, 3.0, 5.0)
    assert (second.arm, second.allowed) == (NOTHING, 7.0)
    assert cost(runs, NOTHING) == 5.5
    assert cost(runs, DISK) == 3.0


def test_a_file_that_is_there_already_is_left_alone(tmp_path: Path) -> None:
    somebodys = tmp_path / "file"
    somebodys.write_text("mine")
    with pytest.raises(FileExistsError):
        list(compare(somebodys, BLOCK_BYTES, [0.0], 1))
    assert somebodys.read_text() == "mine"
