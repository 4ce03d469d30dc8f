"""All experiments of the papers in turn: results are kept, and only those that are missing are run again."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from invoked import invoked
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


@pytest.mark.parametrize("repeated", papers.EXPERIMENTS, ids=lambda repeated: repeated.name)
def test_each_is_a_command_that_takes_its_arguments(repeated):
    command = experiment.commands[repeated.name]
    for arguments in (repeated.short, repeated.long):
        given = [word.replace(papers.PICTURE, "picture.svg") for word in arguments]
        assert command.make_context(repeated.name, [*given, "--json"]).params["as_json"]


@pytest.mark.parametrize(("which", "most"), [(0, 30), (1, 120)])
def test_all_together_fit_the_time_that_is_promised(which, most):
    assert sum(repeated.minutes[which] for repeated in papers.EXPERIMENTS) <= most
