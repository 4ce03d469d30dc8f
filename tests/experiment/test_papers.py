"""All experiments of the papers in turn: results are kept, and only those that are missing are run again."""

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from invoked import invoked
from patience import wait_until
from ses.cli import main
from ses_experiment.commands import papers
from ses_experiment.commands.group import experiment

SMALL = papers.Repeated(
    "read2", "Figure 3", ("--allowed", "800", "--rounds", "1", "--size", "8"), ("--rounds", "0"), (1, 1)
)


def test_an_experiment_that_has_a_result_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "EXPERIMENTS", (SMALL,))
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).parent / "ses")])
    asked = ["experiment", "papers", "--short", "--directory", str(tmp_path), "--json"]
    invoked(main, asked)
    kept = tmp_path / "short/read2.json"
    kept.write_text(json.dumps({"kept": 1}))
    second = CliRunner().invoke(main, asked)
    assert json.loads(second.stdout) == {"read2": {"kept": 1}}


def test_one_that_ends_without_a_result_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "EXPERIMENTS", (SMALL,))
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).parent / "ses")])
    done = CliRunner().invoke(main, ["experiment", "papers", "--directory", str(tmp_path)])
    assert done.exit_code != 0
    assert "read2" in str(done.exception) + done.output
    assert list((tmp_path / "long").iterdir()) == []


def children_of(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_experiment_ends_with_the_command_that_started_it(tmp_path, number):
    program = (
        "import sys; from ses.cli import main; from ses_experiment.commands import papers\n"
        "words = ('--allowed', '1', '--size', '512', '--rounds', '1', '--directory', sys.argv[2])\n"
        "papers.EXPERIMENTS = (papers.Repeated('read2', 'Figure 3', words, words, (1, 1)),)\n"
        "sys.argv[0] = sys.argv[1]; main(['experiment', 'papers', '--directory', sys.argv[2]])\n"
    )
    ses = Path(sys.executable).parent / "ses"
    command = [sys.executable, "-c", program, ses, tmp_path]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        wait_until(lambda: children_of(running.pid) or running.poll() is not None, "the experiment runs")
        (experiment,) = children_of(running.pid)
        wait_until(lambda: children_of(experiment) or running.poll() is not None, "it measures")
        running.send_signal(number)
        said = running.communicate(timeout=60)[1]
    assert running.returncode == 128 + number, said
    assert not list(tmp_path.glob(".ses-read2-*")), "the experiment ended, and took its file away"


@pytest.mark.parametrize("repeated", papers.EXPERIMENTS, ids=lambda repeated: repeated.name)
def test_each_is_a_command_that_takes_its_arguments(repeated):
    command = experiment.commands[repeated.name]
    for arguments in (repeated.short, repeated.long):
        given = [word.replace(papers.PICTURE, "picture.svg") for word in arguments]
        assert command.make_context(repeated.name, [*given, "--json"]).params["as_json"]


@pytest.mark.parametrize(("which", "most"), [(0, 30), (1, 120)])
def test_all_together_fit_the_time_that_is_promised(which, most):
    assert sum(repeated.minutes[which] for repeated in papers.EXPERIMENTS) <= most
