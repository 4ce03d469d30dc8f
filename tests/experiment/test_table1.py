"""Table 1 live, as small as it gets: every kind of run, kept, not run again, simulated beside, drawn."""

import sys
import tempfile
from pathlib import Path

import pytest
from invoked import invoked
from ses.cli import main
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses_experiment.papers.qstorman.figures import draw_paper, pairs
from ses_experiment.papers.qstorman.pictures import draw
from ses_experiment.papers.qstorman.results import Result
from ses_experiment.papers.qstorman.schedule import Run
from ses_experiment.papers.qstorman.simulated import simulated, site
from ses_experiment.papers.qstorman.statistics import comparisons, lone
from ses_experiment.papers.qstorman.table1 import Plan, measure
from ses_experiment.papers.qstorman.table1_rows import side_by_side
from ses_experiment.papers.qstorman.table1_users import Form


@pytest.mark.long
@pytest.mark.root
def test_every_kind_of_run_is_measured_kept_and_not_run_again(traces, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(traces.base))
    plan = Plan(users=(2,), backgrounds=("skewed",), baselines=("wass", "mfs"), repeats=1,
                form=Form((3, 2)))  # fmt: skip
    file, steps = tmp_path / "runs.jsonl", []
    with Interrupts() as interrupts:
        results, machine = measure(plan, file, interrupts, steps.append)
        kept = file.read_text()
        again, _ = measure(plan, file, interrupts, steps.append)
    done = results.among(plan.runs())
    assert len(done) == 7
    assert {(result.run.kind, len(result.supported), len(result.others)) for result in done} == {
        ("lone", 0, 1), ("lone", 1, 0), ("half", 1, 1), ("all", 2, 0), ("none", 0, 2),
    }  # fmt: skip
    # From memory it would be a quarter of the ideal time; limits let a burst of 100 ms pass.
    for result in done:
        assert min(*result.supported, *result.others, 99.0) > 0.5 * plan.form.ideal_seconds
    assert again.among(plan.runs()) == done
    assert file.read_text() == kept
    assert any("7 runs to do" in step for step in steps)
    assert machine["processors"] >= 1
    assert traces.files() == traces.mounts() == traces.processes() == traces.rules_of_detached_devices() == []

    compared = comparisons(done)
    assert {(comparison.baseline, comparison.who) for comparison in compared} == {
        (baseline, who) for baseline in ("wass", "mfs") for who in ("half", "all", "A/A")
    }
    assert set(lone(done, plan.form.ideal_seconds)) == {"plain", "library"}
    beside = simulated(compared, site(plan.form, plan.shape), 2, 1, lambda _done, _total: None)
    assert {cell[3] for cell in beside} == {"half", "all"}
    for prediction in beside.values():
        assert prediction.seconds >= plan.form.ideal_seconds
    draw(compared, beside, tmp_path / "table1.svg")
    assert "measured" in (tmp_path / "table1.svg").read_text()


def test_halves_need_two_users():
    result = invoked(main, ["experiment", "table1", "--users", "1"], code=2)
    assert "two users" in result.output


def test_a_user_alone_takes_the_ideal_time_in_the_simulation():
    from ses_simulate.table1 import Run as Simulated
    from ses_simulate.table1 import simulate

    plan = Plan(users=(2,))
    of = site(plan.form, plan.shape)
    alone = simulate(Simulated("none", 1, "roundrobin", "random", 1, 0, site=of))
    assert alone.supported == pytest.approx(plan.form.ideal_seconds)


def test_the_figures_of_the_paper_stand_beside_ours(tmp_path):
    results = [
        Result(Run("half", "none", users, users // 2, "random", repeat),
               (50.0 + repeat,) * (users // 2), (60.0,) * (users // 2), (0.1, 0.2), "")
        for users in (6, 8, 10) for repeat in (1, 2, 3)
    ]  # fmt: skip
    draw_paper(comparisons(results), results, tmp_path / "table1.svg")
    drawn = (tmp_path / "table1.svg").read_text()
    for text in ("Table 1", "the paper, one run", "Figure 4, measured: 6 users", "pair 3"):
        assert text in drawn
    assert pairs(results[:3]) == [(52.0, 60.0)] * 3, "of the middle gain"


ROW = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/asked"
echo '{"run": 1}' >>"$6"
[ "$4" != 9 ] || { echo "no room" >&2; exit 1; }
"""


@pytest.fixture
def row(tmp_path, monkeypatch):
    """A program in place of ses, which ends at once; with 9 users it fails."""
    program = tmp_path / "row"
    program.write_text(ROW)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])


def test_rows_are_asked_for_side_by_side_and_keep_their_runs_in_one_file(tmp_path, row):
    file, steps = tmp_path / "runs.jsonl", []
    with Interrupts() as interrupts:
        side_by_side((6, 8), ["--paper"], file, interrupts, steps.append)
    asked = sorted((tmp_path / "asked").read_text().splitlines())
    assert asked == [f"experiment table1 --users {count} --resume {file} --paper" for count in (6, 8)]
    assert "2 runs are finished" in steps[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["asked", "row", "runs.jsonl"]


def test_a_row_that_fails_is_named_with_what_it_said(tmp_path, row):
    file = tmp_path / "runs.jsonl"
    with Interrupts() as interrupts, pytest.raises(DemoError, match=r"row of 9 users .*9-users\.log"):
        side_by_side((9,), [], file, interrupts, lambda _step: None)
    assert "no room" in Path(f"{file}.9-users.log").read_text()
