"""Jobs in directories chosen by `ses place`: what is compared, and the smallest live run of every arm."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from patience import wait_until
from ses_experiment.places import BASELINES, PRODUCT, RATES, Batch, Outcome, Plan, Run, compared, outcome

SES = Path(sys.executable).parent / "ses"


def test_load_and_work_of_the_fullest_directory_are_compared_with_the_mean_ones():
    plan = Plan(jobs=2, slots=2, megabytes=8)
    sizes = [sum(size for _, size in job) for job in plan.batch(1)]
    batch = Batch(Run(PRODUCT, 1), ((0, 0.0, 4.0), (1, 2.0, 4.0)), 0.0, "")
    load_of_first, load_of_second = 1 / RATES[0], 1 / RATES[1]
    largest = 2 * load_of_first + 2 * max(load_of_first, load_of_second)
    mean = (2 * load_of_first + 2 * (load_of_first + load_of_second)) / len(RATES)
    work = [size / rate for size, rate in zip(sizes, RATES, strict=False)]
    expected = Outcome(largest / mean, max(work) / (sum(work) / len(RATES)), 4.0, 6.0)
    came = outcome(plan, batch)
    for name in ("load", "work", "seconds", "jobs"):
        assert getattr(came, name) == pytest.approx(getattr(expected, name))
    other = Batch(Run("weights", 1), batch.jobs, 0.0, "")
    assert compared(plan, [other, batch], "weights") == [(came, came)]
    assert compared(plan, [batch], "weights") == []
    assert Batch.of_json(json.loads(json.dumps(asdict(batch)))) == batch


def test_a_batch_is_the_same_for_all_arms_and_mostly_of_small_jobs():
    plan = Plan()
    sizes = sorted(sum(size for _, size in job) for job in plan.batch(3))
    assert sizes == sorted(sum(size for _, size in job) for job in plan.batch(3))
    assert plan.batch(3) != plan.batch(4)
    assert sum(sizes) == pytest.approx(plan.jobs * plan.megabytes, rel=0.1)
    assert sizes[len(sizes) // 2] < plan.megabytes / 1.5, "most are small"
    assert sizes[-1] > 3 * plan.megabytes, "a few are big"
    assert {run.arm for run in plan.runs()} == {PRODUCT, *BASELINES}


@pytest.mark.long
def test_arms_are_run_once_and_what_was_run_is_not_run_again(tmp_path, traces):
    argv = [SES, "experiment", "places", "--short", "--resume", tmp_path / "runs.jsonl", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SES_")}
    environment["TMPDIR"] = str(traces.base)
    said = []
    for _ in range(2):
        done = subprocess.run(argv, capture_output=True, env=environment, timeout=1800, check=False)
        assert done.returncode == 0, done.stderr.decode()
        said.append(json.loads(done.stdout))
    assert said[0]["batches"] == said[1]["batches"]
    assert {batch["run"]["arm"] for batch in said[0]["batches"]} == {PRODUCT, "weights"}
    assert all(len(batch["jobs"]) == Plan().jobs for batch in said[0]["batches"])
    assert traces.files() == traces.processes() == []


@pytest.mark.long
def test_a_run_that_is_stopped_leaves_nothing(tmp_path, traces):
    argv = [SES, "experiment", "places", "--short", "--resume", tmp_path / "runs.jsonl"]
    environment = {**os.environ, "TMPDIR": str(traces.base)}
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL, env=environment) as running:
        wait_until(lambda: list(traces.base.glob("*/errors")) or running.poll() is not None, "it was booted")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 128 + signal.SIGINT
    assert traces.files() == traces.processes() == []
