"""What rounds of a collision say: pure."""

import pytest
from ses_experiment.arms import Arm, parse_arms
from ses_experiment.collision import Plan, commands, turns
from ses_experiment.verdict import Round, summaries, verdict, wanted


def a_round(branches, arm="default", supported=True, number=1):
    names = tuple(f"b{branch}" for branch in branches)
    return Round(number, arm, supported, len(names), "each", names, (1.0,) * len(names), 2.0, 0.5)


@pytest.mark.parametrize(
    ("writers", "branches", "distinct", "most"),
    [(8, 8, 7.0, 1.5), (1, 8, 0.875, 1.5), (4, 8, 3.5, 1.5), (16, 8, 7.0, 2.5), (4, 2, 1.75, 2.5)],
)
def test_the_promise_is_that_of_eight_scaled(writers, branches, distinct, most):
    assert wanted(writers, branches) == (distinct, most)


def test_spread_files_hold():
    rows = summaries([a_round(range(8)), a_round([0, 1, 2, 3, 4, 5, 6, 6], number=2)], 8)
    assert [(row.distinct, row.most, row.rounds, row.holds) for row in rows] == [(7.5, 1.5, 2, True)]
    assert verdict(rows) == (True, "Holds (default): files created together went to different branches.")


@pytest.mark.parametrize("branches", [[0] * 7 + [1], [0, 0, 1, 2, 3, 4, 5, 5], [0, 0, 0, 1, 2, 3, 4, 5]])
def test_files_that_meet_do_not_hold_and_the_sentence_says_what_was_wanted(branches):
    holds, sentence = verdict(summaries([a_round(branches)], 8))
    assert not holds
    assert "default with 8 files by a process each" in sentence
    assert "wanted 7.0" in sentence
    assert "at most 1.5" in sentence


def test_two_on_one_branch_in_every_round_is_too_much_even_with_seven_branches():
    rows = summaries([a_round([0, 1, 2, 3, 4, 5, 6, 6])], 8)
    assert (rows[0].distinct, rows[0].most, rows[0].holds) == (7.0, 2.0, False)


def test_arms_without_the_library_promise_nothing():
    rows = summaries([a_round([0] * 8, "rand", supported=False), a_round(range(8))], 8)
    assert [row.holds for row in rows] == [None, True]
    assert verdict(rows)[0]
    assert not verdict(rows[:1])[0]
    assert "nothing is judged" in verdict(rows[:1])[1]


def test_arms_are_read_from_names_and_options():
    assert parse_arms(["default,mfs", "asked=--answer-ms 30 --log-level 'info'"]) == (
        Arm("default", agent=()),
        Arm("mfs", policy="mfs"),
        Arm("asked", agent=("--answer-ms", "30", "--log-level", "info")),
    )


def test_every_arm_has_its_turn_in_each_round_and_the_order_changes():
    plan = Plan(parse_arms(["default,rand,mfs,lus"]), writers=(4, 8), rounds=12)
    done = list(turns(plan))
    assert done == list(turns(plan))
    orders = set()
    for number in range(1, 13):
        for writers in (4, 8):
            names = [turn.arm.name for turn in done if (turn.number, turn.writers) == (number, writers)]
            assert sorted(names) == ["default", "lus", "mfs", "rand"]
            orders.add(tuple(names))
    assert len(orders) > 5


def test_the_first_file_is_still_written_when_the_last_begins():
    plan = Plan(parse_arms(["default"]), writers=(8, 64), megabytes=1, gap=0.2)
    for writers in plan.writers:
        alone = plan.size(writers, "each") * 2**20 / (plan.shape().write_rate * 1e6)
        assert alone > writers * plan.gap
        assert plan.shape().capacity * 1e6 > writers * plan.size(writers, "each") * 2**20


def test_one_process_creates_all_files_or_each_its_own(tmp_path):
    files = [tmp_path / "a b", tmp_path / "c"]
    each = commands("each", files, 3)
    assert [argv[0] for argv in each] == ["dd", "dd"]
    assert f"of={files[0]}" in each[0]
    assert "count=3" in each[0]
    (command,) = commands("one", files, 3)
    assert f"tee '{files[0]}' {files[1]}" in command[-1]
