"""What is wrong is refused where a job is submitted, in one sentence, and no job is made of it."""

from __future__ import annotations

import re
import subprocess

import pytest
from cluster import BUILD, Cluster

COMMANDS = (("srun", "-n1"), ("sbatch", "-n1", "--wrap=true"), ("salloc", "-n1"))


def jobs(cluster: Cluster) -> list[str]:
    return re.findall(r"^JobId=(\d+)", cluster.output("scontrol", "show", "jobs"), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("need", ["write>20", "writes>=20MB/s", "write>=20MB/s write>=3MB/s", ""])
def test_a_mistake_is_refused_with_the_words_of_ses_run(
    cluster: Cluster, command: tuple[str, ...], need: str
) -> None:
    before = jobs(cluster)
    done = cluster.run(*command, f"--storage={need}", *(() if command[0] == "sbatch" else ("true",)))
    assert done.returncode != 0
    assert jobs(cluster) == before
    ses_run = [str(BUILD / "run/ses-run"), f"--require={need}", "true"]
    said = subprocess.run(ses_run, capture_output=True, text=True, check=False).stderr
    sentence = said.splitlines()[0].removeprefix("ses-run: --require ")
    assert f"--storage {sentence}" in done.stderr


def test_an_unknown_profile_is_refused_with_the_known_ones(cluster: Cluster) -> None:
    before = jobs(cluster)
    done = cluster.run("sbatch", "-n1", "--storage-profile=nonsense", "--wrap=true")
    assert done.returncode != 0
    assert jobs(cluster) == before
    assert "There is no profile 'nonsense'. Profiles are: archive, checkpoint," in done.stderr


def test_a_hard_need_that_no_node_meets_is_refused_with_the_nearest(cluster: Cluster) -> None:
    before = jobs(cluster)
    done = cluster.run("sbatch", "-n1", "--storage=write>=50GB/s!", "--wrap=true")
    assert done.returncode != 0
    assert jobs(cluster) == before
    sentence = r"--storage can be met by no node now; the nearest is \S+, where a stream would write \d+ and"
    assert re.search(sentence, done.stderr), done.stderr
    soft = cluster.run("sbatch", "-n1", "--output=/dev/null", "--storage=write>=50GB/s", "--wrap=true")
    assert soft.returncode == 0, soft.stderr


def test_without_a_service_nothing_is_refused_for_what_nodes_can(cluster: Cluster) -> None:
    away = {"SES_SERVICE_URL": "unix:/nonexistent"}
    hard = ("--output=/dev/null", "--storage=write>=50GB/s!", "--wrap=true")
    assert cluster.run("sbatch", "-n1", *hard, **away).returncode == 0
