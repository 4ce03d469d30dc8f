"""What the commands have in common: what is wrong is said before, what was measured is not lost."""

import json
import os
import shutil
from pathlib import Path

import pytest
from invoked import invoked
from ses.cli import main
from ses.demo.faults import DemoError
from ses.demo.work import SHARED_MEMORY
from ses_client.errors import UsageError
from ses_experiment import places, steer
from ses_experiment.arms import parse_arms
from ses_experiment.papers import orca, read2
from ses_experiment.papers.qstorman import nodes, smed
from ses_experiment.places import PRODUCT, Batch, Plan, Run


def test_one_round_alone_has_an_interval_without_ends(monkeypatch):
    def measured(plan: Plan, *_: object):
        jobs = tuple((number % 8, 0.0, 1.0 + number) for number in range(plan.jobs))
        return [Batch(Run(arm, 1), jobs, 0.0, "") for arm in (PRODUCT, "weights")], {}

    monkeypatch.setattr(places, "measure", measured)
    printed = invoked(main, ["experiment", "places", "--short", "--json"]).stdout

    def refused(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    answer = json.loads(printed, parse_constant=refused)
    assert answer["arms"]["weights"]["load"]["ratio"] == {"mean": 1.0, "low": None, "high": None}
    assert "x 1.00" in invoked(main, ["experiment", "places", "--short"]).stdout


def test_what_was_measured_is_printed_though_the_picture_cannot_be_written(monkeypatch, tmp_path):
    runs = [read2.Run(arm, rate, 1e8, 1e-9) for arm in read2.ARMS for rate in (1e8, 0.0)]
    monkeypatch.setattr("ses_experiment.commands.options.run", lambda _: None)
    monkeypatch.setattr("ses_experiment.commands.read2.lines", lambda _: read2.lines(runs))
    monkeypatch.setattr("ses_experiment.commands.read2.cost", lambda _, arm: read2.cost(runs, arm))
    (tmp_path / "file.svg").mkdir()
    argv = ["experiment", "read2", "--plot", tmp_path / "file.svg"]
    result = invoked(main, [*argv, "--json"], code=1)
    assert "cannot be written" in result.stderr
    assert json.loads(result.stdout)["lines"]
    assert "Shared disk" in invoked(main, argv, code=1).stdout


@pytest.mark.parametrize("name", ["read2", "dedicated", "share", "orca", "table1"])
def test_a_picture_that_cannot_be_written_is_said_before_anything_is_measured(name):
    result = invoked(main, ["experiment", name, "--plot", "/nowhere/at/all.svg"], code=2)
    assert "There is no directory /nowhere/at" in result.stderr


def test_options_of_an_agent_that_cannot_be_read_are_named():
    with pytest.raises(UsageError, match="No closing quotation"):
        parse_arms(["mine=--state-dir 'it"])
    result = invoked(main, ["experiment", "table1", "--agent-options", "it's"], code=2)
    assert "No closing quotation" in result.stderr


def test_a_file_for_results_in_no_directory_is_said_before_anything_is_run():
    result = invoked(main, ["experiment", "places", "--short", "--resume", "/nowhere/runs.jsonl"], code=2)
    assert "There is no directory /nowhere" in result.stderr


def test_of_no_decisions_none_is_right():
    assert orca.right_share([]) is None


def test_steering_of_no_file_is_no_figure():
    with pytest.raises(DemoError, match="No user wrote a file"):
        steer.mean_seconds([])


def test_a_slice_in_which_nothing_was_done_is_no_figure():
    with pytest.raises(DemoError, match="did nothing"):
        print(smed.Slice(watched=1.0, alone=0.0, processor=0.0, load=0.0).lost)


def test_no_node_to_rank_is_named(monkeypatch):
    class Nobody:
        candidates = ()

    class Client:
        def select_nodes(self, *_: object, **__: object) -> Nobody:
            return Nobody()

    class Services:
        def client(self) -> Client:
            return Client()

    with pytest.raises(DemoError, match="ranks no node"):
        nodes._first(Services())


def test_a_missing_scan_alone_is_refused_before_anything_is_made(monkeypatch):
    monkeypatch.setattr("ses_experiment.papers.scan.installed", lambda: None)
    result = invoked(main, ["experiment", "orca", "--short", "--program", "scan"], code=1)
    assert "PostgreSQL is not installed" in result.stderr
    assert "making the disks" not in result.stderr


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="disks need root")
@pytest.mark.parametrize(
    "command", [["sort"], ["orca", "--short"], ["disc", "--short"]], ids=lambda words: words[0]
)
def test_memory_that_is_too_full_for_disks_is_said_before_they_are_made(monkeypatch, command):
    usage = shutil.disk_usage

    def full(path):
        return usage(path) if Path(path) != SHARED_MEMORY else usage(path)._replace(free=1_000_000)

    monkeypatch.setattr("ses.demo.work.shutil.disk_usage", full)
    result = invoked(main, ["experiment", *command], code=1)
    assert "/dev/shm has 1 MB free, and " in result.stderr
    assert "making the disks" not in result.stderr


@pytest.mark.parametrize("same", [True, False])
def test_a_sort_whose_output_differs_has_failed(monkeypatch, same):
    from ses_experiment.papers.two_pass import Near, Pass

    passes = [Pass("runs", 1.0, 1.0, "disk", 1, 1)]
    monkeypatch.setattr("ses_experiment.commands.sort.measure", lambda *_: (passes, Near(10, 7.5, 1.0, same)))
    for more in ([], ["--json"]):
        invoked(main, ["experiment", "sort", *more], code=0 if same else 1)


def test_what_is_kept_stays_readable_when_the_last_line_lost_only_its_end(tmp_path: Path):
    from ses_experiment.papers.qstorman.results import Result, Results
    from ses_experiment.papers.qstorman.schedule import Run as TableRun

    file = tmp_path / "runs.jsonl"
    finished = [
        Result(TableRun("half", "none", 4, 2, "random", repeat), (1.0,), (2.0,), (0.0, 0.0), "")
        for repeat in (1, 2)
    ]
    Results(file, {}, {}, Result.of_json).add(finished[0])
    file.write_text(file.read_text().removesuffix("\n"))
    Results(file, {}, {}, Result.of_json).add(finished[1])
    again = Results(file, {}, {}, Result.of_json)
    assert again.among([result.run for result in finished]) == finished[1:], "the other one is run again"
