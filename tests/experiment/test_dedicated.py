"""A busy server beside each way to monitor it: every way is run, on its cores, and compared as told."""

import json
import os
from pathlib import Path

import pytest
from invoked import invoked
from ses.cli import main
from ses_experiment.papers.dedicated import NONE, TRACED, WAYS, Run, between, compare, median_between
from ses_experiment.papers.dedicated_programs import DEDICATED, DEFAULT, SHARED

needs_two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a core can be given away only where there are two"
)


@needs_two_cores
def test_every_way_is_measured_beside_the_web_server(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    options = (
        "--servers",
        "2",
        "--periods",
        "1",
        "--seconds",
        "0.1",
        "--sizes",
        "8,1024",
        "--plot",
        str(tmp_path / "figure7.svg"),
        "--rounds",
        "1",
        "--clients",
        "2",
        "--json",
    )
    result = invoked(main, ["experiment", "dedicated", *options])
    answer = json.loads(result.stdout)
    assert {
        (line["way"], line["servers"], line["period_ms"], line["size_kib"]) for line in answer["lines"]
    } == {
        (way, servers, period, size)
        for size in (8, 1024)
        for way, servers, period in (
            (NONE, 0, 0),
            ("none, one core less", 0, 0),
            *((way, servers, 1) for way in WAYS for servers in (0, 2)),
        )
    }
    assert all(len(line["trace_us"]) == TRACED for line in answer["lines"])
    assert "DC-RDMA-Sync" in (tmp_path / "figure7.svg").read_text()
    assert all(line["mean_us"] > 0 for line in answer["lines"])
    assert os.sched_getaffinity(0) == before


def test_runs_are_compared_by_the_papers_metric_and_by_what_shifts() -> None:
    base = Run([100.0] * 100)
    wide = Run([80.0] * 100)
    run = Run([100.0] * 90 + [300.0] * 10, processor=0.03)
    line = compare(SHARED, 16, 4, [(run, base, wide)] * 3)
    assert (line.over, line.over_base, line.processor) == (0.10, 0.10, 0.03)
    assert (line.p50, line.p99) == (0.0, 2.0)
    assert line.equal_p50 == pytest.approx(0.25)
    slow = compare(DEFAULT, 16, 4, [(Run([200.0] * 100), base, base)])
    assert (slow.over, slow.over_base, slow.p50) == (0.0, 1.0, 1.0), (
        "the own mean hides what shifts the whole"
    )
    assert compare(DEDICATED, 1, 1, [(base, base, base)]).p99 == 0.0


def test_of_few_no_confidence_is_claimed() -> None:
    assert between([1.0, 3.0, 2.0]) == "least and most 1.0000 to 3.0000"
    assert between([1.0] * 5).startswith("least and most"), "94 %"
    assert between([1.0] * 6).startswith("95 % interval")


def test_a_median_lies_between_the_values_a_sign_test_leaves() -> None:
    assert median_between([3.0, 1.0, 2.0]) == (1.0, 3.0), "of few, nothing can be left out"
    assert median_between(list(range(6))) == (0, 5)
    assert median_between(list(range(10))) == (1, 8)
    assert median_between(list(range(20))) == (5, 14)
    assert median_between([7.0]) == (7.0, 7.0)
