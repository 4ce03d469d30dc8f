"""What the simulator reports: the same every time, in the agreed form, and with the known effects."""

import json
import math
import sys
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from invoked import invoked
from ses.cli import main
from ses_simulate import hard, table1, table1_study
from ses_simulate.policies import RULES
from ses_simulate.rows import gain
from ses_simulate.scenarios import SCENARIOS
from ses_simulate.statistics import interval, percentile, t95

COLUMNS = {
    "scenario": str, "users": int, "policy": str, "baseline": str, "supported": str, "gain": float,
    "low": float, "high": float, "slowdown_vs_clairvoyant": float, "mean_slowdown": float, "seeds": int,
}  # fmt: skip
SEEDS = 4
SMALL = ("simulate", "table1", "--jobs", "1", "--users", "6", "--policy", "random", "--scenario", "none")


WAYS = [(False, False), (True, True), (False, True), (True, False)]


@cache
def in_table(run: table1.Run) -> table1.Times:
    """Play a run once for all tests: another time it would give the same."""
    return table1.simulate(run)


@cache
def on_hard(run: hard.Run) -> hard.Slowdowns:
    return hard.simulate(run)


def mean_gain(policy: str, scenario: str, users: int = 8) -> float:
    runs = [
        in_table(table1.Run(scenario, users, policy, "random", users // 2, seed)) for seed in range(SEEDS)
    ]
    return gain([run.supported for run in runs], [run.others for run in runs]).mean


def test_the_same_seed_gives_the_same_result() -> None:
    for policy in ("ours", "buckets", "free-space"):
        run = table1.Run("skewed", 6, policy, "roundrobin", 3, 7)
        assert table1.simulate(run) == table1.simulate(run)
    study = hard.Run("rho08-t5", "two-choices", 3, files=500)
    assert hard.simulate(study) == hard.simulate(study)


def test_another_seed_gives_another_result() -> None:
    runs = {in_table(table1.Run("none", 6, "random", "random", 3, seed)) for seed in range(3)}
    assert len(runs) == 3


def test_a_skewed_seed_stands_for_every_way_to_mirror_it() -> None:
    """The users' chance and the background's, each for itself."""
    row = table1_study.table1(["skewed"], [6], ["random"], 1, 1, lambda *_: None)[0]
    runs = [in_table(table1.Run("skewed", 6, "random", "random", 3, 0, *way)) for way in WAYS]
    assert len({run.supported for run in runs}) == 4
    assert row.mean_seconds == pytest.approx(sum(run.supported for run in runs) / 4)
    assert row.baseline_seconds == pytest.approx(sum(run.others for run in runs) / 4)


@pytest.mark.parametrize(
    ("policy", "scenario", "low", "high"),
    [
        ("ours", "none", 0.12, 0.23),
        ("ours", "uniform", 0.2, 0.42),
        ("ours", "skewed", 0.32, 0.55),
        ("roundrobin", "none", 0.11, 0.21),
        ("clairvoyant", "none", 0.13, 0.24),
        ("random", "none", -0.07, 0.07),
    ],
)
def test_the_table_is_where_it_was(policy: str, scenario: str, low: float, high: float) -> None:
    assert low < mean_gain(policy, scenario) < high


def saved_over_in_turn(scenario: str, users: int, nodes: int, ours: str = "ours") -> float:
    def took(policy: str) -> list[float]:
        return [
            in_table(table1.Run(scenario, users, policy, "random", users, seed, nodes=nodes)).supported
            for seed in range(SEEDS)
        ]

    return gain(took(ours), took("roundrobin")).mean


@pytest.mark.parametrize(
    ("scenario", "users", "nodes", "least"),
    [("none", 8, 0, -0.02), ("none", 10, 0, -0.03), ("none", 10, 1, -0.02), ("uniform", 8, 0, 0.1)],
)
def test_everyone_on_ours_is_as_well_off_as_everyone_in_turn(
    scenario: str, users: int, nodes: int, least: float
) -> None:
    assert saved_over_in_turn(scenario, users, nodes) > least


def test_the_more_often_nodes_hear_of_each_other_the_better() -> None:
    means = [
        on_hard(hard.Run(f"nodes-64-told-{every}", "ours", 1, files=1500)).mean
        for every in ("5s", "1s", "0.2s")
    ]
    assert means[0] > means[1] > means[2]
    assert means[0] < 1.75
    assert means[2] < 1.35


def judged(scenario: str, policy: str, files: int, seeds: int = 2) -> float:
    runs = [on_hard(hard.Run(scenario, policy, seed, files)) for seed in range(seeds)]
    return sum(run.judged(SCENARIOS[scenario].judged) for run in runs) / seeds


@pytest.mark.parametrize(
    "scenario",
    ["wrong-rates", "nodes-64", "flapping", "strangers", "old-files", "pareto", "checkpoint-8-nodes",
     "rows-of-files", "elements-250"],
)  # fmt: skip
def test_ours_is_no_worse_than_fewest_open_files(scenario: str) -> None:
    assert judged(scenario, "ours", 640, seeds=3) < 1.05 * judged(scenario, "least-open", 640, seeds=3)


@pytest.mark.parametrize(
    "scenario", ["checkpoint-1-node", "checkpoint-8-nodes", "checkpoint-64-nodes", "collision"]
)
def test_no_rank_of_a_checkpoint_waits_for_another(scenario: str) -> None:
    assert judged(scenario, "ours", 640, seeds=1) == pytest.approx(1.0, abs=0.01)


def test_files_of_unknown_size_find_room() -> None:
    assert judged("room", "ours", 0, seeds=1) <= 5
    assert judged("room", "roundrobin", 0, seeds=1) > 50


def test_a_term_that_is_switched_off_is_missed() -> None:
    assert judged("strangers", "no-others", 640) > 1.1 * judged("strangers", "ours", 640)
    assert judged("monitor-late", "no-seen-writes", 640) > 1.04 * judged("monitor-late", "ours", 640)
    assert judged("checkpoint-8-nodes", "no-ranks", 640) > 1.5
    assert saved_over_in_turn("none", 10, 0, "no-recency") < -0.1
    assert saved_over_in_turn("none", 8, 0, "no-reading") < -0.05
    assert judged("rows-of-files", "no-writing-out", 640) > 1.3 * judged("rows-of-files", "ours", 640)
    assert judged("open-idle", "no-idle", 640) > 1.05 * judged("open-idle", "ours", 640)
    assert judged("one-link", "no-server-rate", 640) > 1.3 * judged("one-link", "ours", 640)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_plays_to_its_end(scenario: str) -> None:
    outcomes = on_hard(hard.Run(scenario, "roundrobin", 1, files=300))
    assert outcomes.mean > 0.999
    assert outcomes.p95 <= outcomes.p99
    played = SCENARIOS[scenario]
    assert (outcomes.last >= 0.999) == (played.burst > 1 or played.rush > 0 or bool(played.workflow))


def test_ranking_by_observed_throughput_loses() -> None:
    assert mean_gain("observed-throughput", "none") < -0.5


def test_the_first_best_of_an_old_sample_herds() -> None:
    assert mean_gain("stale-first", "none") < -0.1
    slow = on_hard(hard.Run("rho08-t60-small", "stale-argmin", 1, files=3000)).mean
    assert slow > 10 * on_hard(hard.Run("rho08-t60-small", "random", 1, files=3000)).mean


def test_a_user_alone_needs_the_time_of_the_work() -> None:
    took = in_table(table1.Run("none", 1, "ours", "random", 1, 1)).supported
    assert took == pytest.approx(table1.LONE_SECONDS + 25, abs=25), "and up to a second more for each file"


def test_ours_is_near_the_clairvoyant_rule_with_old_samples() -> None:
    ours, best = (
        on_hard(hard.Run("rho08-t30", policy, 2, files=1500)).mean for policy in ("ours", "clairvoyant")
    )
    assert ours < 1.1 * best


def test_table1_prints_the_agreed_json() -> None:
    result = invoked(
        main,
        ["simulate", "table1", "--seeds", "2", "--json", "--jobs", "2", "--users", "6", "--policy", "ours",
         "--policy", "roundrobin", "--scenario", "none"])  # fmt: skip
    rows = json.loads(result.stdout)
    assert {(row["policy"], row["baseline"], row["supported"]) for row in rows} == {
        (policy, baseline, supported)
        for policy in ("ours", "roundrobin")
        for baseline in ("random", "roundrobin")
        for supported in ("half", "all")
    }
    for row in rows:
        for column, kind in COLUMNS.items():
            assert isinstance(row[column], kind), column
        assert row["low"] <= row["gain"] <= row["high"]
        assert (row["scenario"], row["users"], row["seeds"]) == ("none", 6, 2)
    assert "runs" in result.stderr


def test_hard_prints_the_agreed_json_and_a_picture(tmp_path: Path) -> None:
    for name, magic in (("cases.png", b"\x89PNG"), ("cases.svg", b"<?xml")):
        result = invoked(
            main,
            ["simulate", "hard", "--seeds", "2", "--files", "300", "--json", "--jobs", "1",
             "--policy", "ours", "--scenario", "bursts", "--plot", str(tmp_path / name)])  # fmt: skip
        assert (tmp_path / name).read_bytes().startswith(magic)
    rows = json.loads(result.stdout)
    assert [(row["scenario"], row["baseline"]) for row in rows] == [
        ("bursts", "random"),
        ("bursts", "roundrobin"),
        ("bursts", "least-open"),
    ]
    assert all(row["last_slowdown"] > 1 and row["crowd"] > 1 for row in rows)
    assert all(row["users"] is None and row["p99_slowdown"] >= row["mean_slowdown"] >= 1 for row in rows)


def test_one_seed_alone_tells_no_interval() -> None:
    result = CliRunner().invoke(main, [*SMALL, "--seeds", "1", "--json"])
    assert all(row["low"] is None and row["high"] is None for row in json.loads(result.stdout))
    printed = invoked(main, [*SMALL, "--seeds", "1"]).stdout
    assert "inf" not in printed


def test_a_table_is_printed_for_people() -> None:
    result = invoked(
        main,
        ["simulate", "table1", "--seeds", "2", "--users", "6", "--policy", "random", "--scenario", "none"],
    )
    assert "of clairvoyant" in result.stdout


@pytest.mark.parametrize(
    "option",
    [("--policy", "best"), ("--scenario", "easy"), ("--plot", "x.pdf"), ("--plot", "/nowhere/x.svg")],
)
def test_what_is_not_known_is_named(option: tuple[str, str]) -> None:
    arguments = [
        "simulate",
        "table1",
        "--seeds",
        "1",
        "--users",
        "2",
        "--policy",
        "random",
        "--scenario",
        "none",
    ]
    result = invoked(main, [*arguments, *option], code=2)
    assert option[1].removesuffix("/x.svg") in result.output
    assert "runs" not in result.stderr, "it was said before anything was run"


@pytest.mark.parametrize(
    ("experiment", "scenarios"),
    [
        ("table1", {name: table1.SAYS[name] for name in table1.BACKGROUNDS}),
        ("hard", {scenario.name: scenario.says for scenario in SCENARIOS.values()}),
    ],
)
def test_the_help_says_what_each_scenario_and_rule_is(experiment: str, scenarios: dict[str, str]) -> None:
    result = invoked(main, ["simulate", experiment, "--help"], terminal_width=80)
    lines = [line.split(maxsplit=1) for line in result.output.splitlines()]
    for name, says in (scenarios | {name: says for name, (_, says) in RULES.items()}).items():
        assert [name, says] in lines


def test_without_the_simulator_the_help_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ses_simulate")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ses_simulate", None)
    result = invoked(main, ["simulate", "hard", "--help"])
    assert "benchmarks/simulate" in result.output


def test_without_the_simulator_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ses_simulate")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ses_simulate", None)
    result = invoked(main, ["simulate", "table1", "--seeds", "1"], code=1)
    assert "not installed" in result.output
    assert "benchmarks/simulate" in result.output


def test_intervals_are_students() -> None:
    bounds = interval([1.0, 2.0, 3.0])
    assert (bounds.mean, bounds.high) == pytest.approx((2.0, 2.0 + 4.303 / math.sqrt(3)))
    assert t95(19) == 2.093
    assert t95(120) == pytest.approx(1.980, abs=1e-3)
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
