"""Finished runs are kept, counted once, and compared: pure but for a file."""

import json
import math

import pytest
from ses_client.errors import UsageError
from ses_experiment.papers.qstorman.results import Result, Results
from ses_experiment.papers.qstorman.schedule import Run
from ses_experiment.papers.qstorman.statistics import agrees, as_json, comparisons, lone
from ses_simulate.statistics import Interval

SETTINGS = {"seed": 1}


def result(kind, repeat, supported=(), others=(), baseline="random", users=4):
    run = Run(kind, "none", users, len(supported), baseline, repeat)
    return Result(run, tuple(supported), tuple(others), (0.5, 0.6), "2026-11-22T12:00:00+00:00")


def test_what_was_finished_is_there_again(tmp_path):
    file = tmp_path / "runs.jsonl"
    first = Results(file, SETTINGS, {"processors": 2}, Result.of_json)
    done = [result("half", 1, (1.0, 2.0), (3.0, 4.0)), result("all", 1, (1.0,) * 4, baseline="")]
    for finished in done:
        assert finished.run not in first
        first.add(finished)
    again = Results(file, SETTINGS, {}, Result.of_json)
    assert again.among([finished.run for finished in done]) == done
    assert all(finished.run in again for finished in done)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[0]["settings"] == SETTINGS
    assert lines[0]["machine"] == {"processors": 2}
    assert len(lines) == 3


def test_runs_of_other_settings_stay_and_do_not_count(tmp_path):
    file = tmp_path / "runs.jsonl"
    finished = result("half", 1, (1.0, 2.0), (3.0, 4.0))
    Results(file, SETTINGS, {}, Result.of_json).add(finished)
    other = Results(file, {"seed": 2}, {}, Result.of_json)
    assert finished.run not in other
    assert other.others == 1
    other.add(finished)
    assert Results(file, SETTINGS, {}, Result.of_json).others == 1
    assert finished.run in Results(file, SETTINGS, {}, Result.of_json)


def test_a_line_that_was_cut_off_is_run_again_and_the_next_one_is_whole(tmp_path):
    file = tmp_path / "runs.jsonl"
    first, second = (result("half", repeat, (1.0, 2.0), (3.0, 4.0)) for repeat in (1, 2))
    results = Results(file, SETTINGS, {}, Result.of_json)
    results.add(first)
    results.add(second)
    file.write_text(file.read_text()[:-20])
    again = Results(file, SETTINGS, {}, Result.of_json)
    assert first.run in again
    assert second.run not in again
    again.add(second)
    assert second.run in Results(file, SETTINGS, {}, Result.of_json)


def test_a_file_of_something_else_is_refused_with_the_line(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text('{"settings": {}}\nhello\n')
    with pytest.raises(UsageError, match="line 2 is no result"):
        Results(file, SETTINGS, {}, Result.of_json)


def test_halves_are_compared_within_a_run_and_everyone_with_everyone_on_the_baseline():
    compared = comparisons(
        [
            result("half", 1, (8.0, 8.0), (10.0, 10.0)),
            result("half", 2, (6.0, 6.0), (10.0, 10.0)),
            result("all", 1, (7.0,) * 4, baseline=""),
            result("all", 2, (9.0,) * 4, baseline=""),
            result("all", 3, (1.0,) * 4, baseline=""),
            result("none", 1, (), (10.0, 10.0, 10.0, 10.0)),
            result("none", 2, (), (8.0, 8.0, 10.0, 10.0)),
            result("none", 1, (), (7.0,) * 4, baseline="roundrobin"),
        ]
    )
    table = {(comparison.baseline, comparison.who): comparison for comparison in compared}
    assert set(table) == {
        *(("random", who) for who in ("half", "all", "A/A")),
        *(("roundrobin", who) for who in ("all", "A/A")),
    }
    half = table["random", "half"]
    assert half.gain.mean == pytest.approx(0.3)
    assert half.gain.low == pytest.approx(0.3 - 12.706 * 0.1, abs=1e-3)
    assert (half.seconds, half.baseline_seconds, half.repeats) == (7.0, 10.0, 2)
    assert table["random", "all"].gain.mean == pytest.approx((0.3 + 0.0) / 2)
    assert table["random", "A/A"].gain.mean == pytest.approx((0.0 + 0.2) / 2)
    assert table["roundrobin", "all"].gain.mean == pytest.approx(0.0)
    assert as_json(table["roundrobin", "all"])["low"] is None


def test_a_lone_user_is_reported_as_a_multiple_of_the_ideal_time():
    alone = [result("lone", 1, (), (10.5,), users=1), result("lone", 1, (11.0,), (), users=1)]
    assert lone(alone, 10.0) == pytest.approx({"plain": 1.05, "library": 1.1})


def test_intervals_agree_when_they_meet():
    assert agrees(Interval(0.2, 0.1, 0.3), Interval(0.35, 0.3, 0.4))
    assert not agrees(Interval(0.2, 0.1, 0.29), Interval(0.35, 0.3, 0.4))
    assert agrees(Interval(0.2, -math.inf, math.inf), Interval(0.35, 0.3, 0.4)) is None
