"""The storage part of libses-offload as a task of Slurm."""

from pathlib import Path

import pytest
from cluster import Cluster
from offload_programs import answers

USER = "daemon"


@pytest.fixture
def program(prefix: Path) -> Path:
    """The program as a node starts it: says first which node that is, and of which job."""
    said = prefix / "node"
    said.touch()
    said.chmod(0o666)
    path = prefix / "on-a-node"
    path.write_text(f'#!/bin/sh\necho "$SLURMD_NODENAME $SLURM_JOB_ID" >{said}\nexec {prefix}/probe "$@"\n')
    path.chmod(0o755)
    return path


def call(cluster: Cluster, prefix: Path, program: Path, node: str, *before: str) -> dict[str, str]:
    words = (f"{prefix}/probe", "over", f"slurm:{node}", "srun", str(program))
    return answers(cluster.run(*before, *words, user=USER))


def test_a_part_is_started_on_the_node_that_is_named(cluster: Cluster, prefix: Path, program: Path) -> None:
    assert call(cluster, prefix, program, "n3") == {"open": "0", "reason": "", "call": "0", "apart": "1"}
    assert (prefix / "node").read_text().split()[0] == "n3"


def test_within_a_job_a_part_runs_beside_its_steps(cluster: Cluster, prefix: Path, program: Path) -> None:
    within = ("salloc", "--quiet", "-N1", "-n1", "--nodelist=n2", "srun", "-n1")
    said = call(cluster, prefix, program, "n2", *within)
    assert said == {"open": "0", "reason": "", "call": "0", "apart": "1"}
    assert (prefix / "node").read_text().split()[0] == "n2"


def test_a_node_that_slurm_does_not_know_is_an_error(cluster: Cluster, prefix: Path, program: Path) -> None:
    said = call(cluster, prefix, program, "nowhere")
    assert said == {"open": "7", "reason": "nowhere: the command that starts the storage part ended"}
