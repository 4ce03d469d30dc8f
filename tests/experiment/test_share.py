"""Shared values of another node: each way to answer is measured, and both programs run on four nodes."""

import json
import os
import sys
from pathlib import Path

import pytest
from ran import ran
from ses_experiment.papers.share import ARMS, GET, PLAIN, POLLS, Line, less, options_of
from ses_experiment.papers.share_programs import ARMS as AGENTS

SES = Path(sys.executable).parent / "ses"


def _line(arm: str, size: int, p99: float, provider: str = "tcp") -> Line:
    return Line(provider, arm, GET, size, 1.0, p99, (p99, p99), 1.0)


def test_ways_are_compared_size_by_size() -> None:
    lines = [_line(PLAIN, 8, 100.0), _line(POLLS, 8, 25.0), _line(PLAIN, 64, 1000.0), _line(POLLS, 64, 750.0)]
    assert less(lines, POLLS, PLAIN) == {"tcp": pytest.approx(0.5)}


def test_an_agent_has_a_core_only_where_it_is_given_one() -> None:
    assert options_of(PLAIN, 1) == ()
    assert options_of(POLLS, 1)[:2] == ("--core", "1")


@pytest.mark.root
@pytest.mark.long
@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="a core can be given away only where there are two"
)
def test_each_way_is_measured_on_nodes_of_their_own() -> None:
    """Figures of such a short run on a busy machine mean nothing, so none is asked for."""
    done = ran([SES, "experiment", "share", "--short", "--json"])
    result = json.loads(done.stdout)
    assert {(row["arm"], row["operation"]) for row in result["lines"]} == {
        (arm, call) for arm in ARMS for call in ("put", "get")
    }
    assert {row["arm"] for row in result["selects"]} == set(AGENTS)
    assert {(row["arm"], row["model"], row["probability"]) for row in result["checkpoints"]} == {
        (arm, model, probability)
        for arm in AGENTS
        for model in ("strict", "temporal")
        for probability in (0.0, 0.005, 0.01, 0.02, 0.05)
    }
