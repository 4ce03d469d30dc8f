"""What Table 1 runs, and by which chance: pure."""

from random import Random

import pytest
from ses_experiment.background import schedule
from ses_experiment.papers.qstorman.schedule import BASELINES, Run, draws, runs
from ses_experiment.papers.qstorman.table1_users import FULL, MIB, PAPER, SHORT


def test_every_cell_has_all_kinds_of_run_in_each_repetition():
    todo = list(runs((6, 8), ("none", "skewed"), ("random", "mfs"), 3, seed=1))
    assert len(todo) == len(set(todo)) == 2 + 3 * 2 * 2 * 5
    assert [(run.kind, run.supported) for run in todo[:2]] == [("lone", 0), ("lone", 1)]
    for repeat in (1, 2, 3):
        for background in ("none", "skewed"):
            for users in (6, 8):
                here = {
                    (run.kind, run.baseline, run.supported)
                    for run in todo[2:]
                    if (run.repeat, run.background, run.users) == (repeat, background, users)
                }
                assert here == {
                    ("all", "", users),
                    *(("half", name, users // 2) for name in ("random", "mfs")),
                    *(("none", name, 0) for name in ("random", "mfs")),
                }


def test_kinds_take_turns_in_changing_order_and_the_seed_decides():
    todo = list(runs((8,), ("none",), BASELINES, 6, seed=1))
    assert todo == list(runs((8,), ("none",), BASELINES, 6, seed=1))
    assert todo != list(runs((8,), ("none",), BASELINES, 6, seed=2))
    orders = {
        tuple((run.kind, run.baseline) for run in todo if run.repeat == repeat) for repeat in range(2, 7)
    }
    assert len(orders) > 1


def test_chance_is_the_same_for_all_kinds_of_a_repetition_and_another_in_the_next():
    run = Run("half", "skewed", 8, 4, "random", 1)
    assert draws(run, 1, 8, 0.5) == draws(Run("all", "skewed", 8, 8, "", 1), 1, 8, 0.5)
    assert draws(run, 1, 8, 0.5) != draws(Run("half", "skewed", 8, 4, "random", 2), 1, 8, 0.5)
    chance = draws(run, 1, 8, 0.5)
    assert sorted(chance.order) == list(range(8))
    assert all(0 <= start <= 0.5 for start in chance.starts)
    assert set(chance.first) <= set(range(8))


def test_streams_of_others_keep_the_part_of_each_direction_busy_that_they_should():
    loads, rates, mean = (0.7, 0.3, 0.0), (25e6, 15e6), 40e6
    moved = {(branch, reads): 0.0 for branch in range(3) for reads in (True, False)}
    horizon = 50_000.0
    for stream in schedule(loads, rates, mean, horizon, Random(1)):
        moved[stream.branch, stream.reads] += stream.blocks * MIB
    for (branch, reads), amount in moved.items():
        assert amount / horizon / rates[not reads] == pytest.approx(loads[branch], rel=0.1)


def test_streams_come_in_order_and_some_are_there_from_the_beginning():
    counts = []
    for seed in range(300):
        streams = schedule((0.7,), (25e6, 15e6), 40e6, 10.0, Random(seed))
        assert [stream.at for stream in streams] == sorted(stream.at for stream in streams)
        counts.append(sum(stream.at == 0.0 for stream in streams))
    assert sum(counts) / len(counts) == pytest.approx(2 * 0.7 / 0.3, rel=0.15)
    assert schedule((), (25e6, 15e6), 40e6, 10.0, Random(1)) == []


def test_the_ideal_time_is_that_of_the_rates():
    assert SHORT.ideal_seconds == pytest.approx(72 * MIB / 1e6 * (1 / 25 + 1 / 15 + 0.026))
    assert FULL.ideal_seconds > 4 * SHORT.ideal_seconds


def test_the_form_of_the_paper_has_its_fifty_files_and_its_ratios():
    assert sorted(PAPER.sizes) == list(range(1, 51))
    assert PAPER.read_rate / PAPER.write_rate == pytest.approx(500 / 300)
    hours = sum(range(1, 51)) * (1 / 0.5 + 1 / 0.3 + 1.3) / 3600
    assert PAPER.ideal_seconds == pytest.approx(hours * 18.43, rel=1e-3)
    todo = list(runs((6, 8, 10), ("none",), ("random",), 20, seed=1, kinds=("half",)))
    assert [run.kind for run in todo].count("half") == len(todo) - 2 == 60


@pytest.mark.parametrize("form", [FULL, SHORT, PAPER])
def test_each_input_holds_what_is_read_from_it(form):
    assert list(form.sizes) == sorted(form.sizes, reverse=True)
