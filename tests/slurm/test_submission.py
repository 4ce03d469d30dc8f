"""What is wrong is refused where a job is submitted, in one sentence, and no job is made of it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import BUILD
from cluster import Cluster
from ran import ran

COMMANDS = (("srun", "-n1"), ("sbatch", "-n1", "--wrap=true"), ("salloc", "-n1"))


def jobs(cluster: Cluster) -> set[str]:
    """The jobs Slurm knows; it forgets each some minutes after its end."""
    return set(re.findall(r"^JobId=(\d+)", cluster.output("scontrol", "show", "jobs"), re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    "need", ["write>20", "writes>=20MB/s", "write>=20MB/s write>=3MB/s", "write>=20MBs", ""]
)
def test_a_mistake_is_refused_with_the_words_of_ses_run(
    cluster: Cluster, command: tuple[str, ...], need: str
) -> None:
    before = jobs(cluster)
    done = cluster.run(*command, f"--storage={need}", *(() if command[0] == "sbatch" else ("true",)))
    assert done.returncode != 0
    assert jobs(cluster) <= before
    ses_run = [str(BUILD / "run/ses-run"), f"--require={need}", "true"]
    said = ran(ses_run, code=None).stderr
    sentence = said.splitlines()[0].removeprefix("ses-run: --require ")
    assert f"--storage {sentence}" in done.stderr


def test_an_unknown_profile_is_refused_with_the_known_ones(cluster: Cluster) -> None:
    before = jobs(cluster)
    done = cluster.run("sbatch", "-n1", "--storage-profile=nonsense", "--wrap=true")
    assert done.returncode != 0
    assert jobs(cluster) <= before
    assert "There is no profile 'nonsense'. Profiles are: archive, checkpoint," in done.stderr


def test_a_hard_need_that_no_node_meets_is_refused_with_the_nearest(cluster: Cluster) -> None:
    before = jobs(cluster)
    done = cluster.run("sbatch", "-n1", "--storage=write>=50GB/s!", "--wrap=true")
    assert done.returncode != 0
    assert jobs(cluster) <= before
    sentence = r"--storage can be met by no node now; the nearest is \S+, where a stream would write \d+ and"
    assert re.search(sentence, done.stderr), done.stderr
    soft = cluster.run("sbatch", "-n1", "--output=/dev/null", "--storage=write>=50GB/s", "--wrap=true")
    assert soft.returncode == 0, soft.stderr


def test_without_a_service_nothing_is_refused_for_what_nodes_can(cluster: Cluster) -> None:
    away = {"SES_SERVICE_URL": "unix:/nonexistent"}
    hard = ("--output=/dev/null", "--storage=write>=50GB/s!", "--wrap=true")
    assert cluster.run("sbatch", "-n1", *hard, **away).returncode == 0


@pytest.fixture
def published(cluster: Cluster) -> Iterator[Path]:
    """What `ses nodes publish` writes, read by the plugin in place of asking the service."""
    offers, plugins = cluster.work / "offers", cluster.work / "plugstack.conf"
    before = plugins.read_text()
    assert " offers in" in cluster.output("ses", "nodes", "publish", str(offers))
    plugins.write_text(before.replace("check=nodes", f"check={offers}"))
    yield offers
    plugins.write_text(before)
    offers.unlink()


def outcome(cluster: Cluster, need: str) -> tuple[bool, str]:
    """Whether a job is taken, and what is said; the service is away."""
    away = {"SES_SERVICE_URL": "unix:/nonexistent", "PATH": "/usr/bin:/bin"}
    done = cluster.run("sbatch", "-n1", "--output=/dev/null", f"--storage={need}", "--wrap=true", **away)
    return done.returncode == 0, done.stderr


def test_a_published_file_refuses_without_service_or_command(cluster: Cluster, published: Path) -> None:
    taken, said = outcome(cluster, "write>=50GB/s!")
    assert not taken
    nearest = r"--storage can be met by no node now; the nearest is union/b\d from \S+, where a stream would"
    assert re.search(nearest, said), said
    assert outcome(cluster, "write>=1MB/s!")[0]
    assert outcome(cluster, "write>=50GB/s")[0]
    assert outcome(cluster, "average-write>=50GB/s!")[0], "averages are not in the file"


def test_hard_needs_must_be_met_by_one_element_together(cluster: Cluster, published: Path) -> None:
    known = f"ses-offers 2 {int(time.time())}\nu/fast 900 900 10 n1\nu/large 90 90 5000 n[1-2]\n"
    published.write_text(known)
    assert outcome(cluster, "write>=800MB/s!")[0]
    assert outcome(cluster, "free>=4TB!")[0]
    taken, said = outcome(cluster, "write>=800MB/s! free>=4TB! read>=100MB/s")
    assert not taken
    assert (
        "the nearest is u/large from n[1-2], where a stream would write 90 and read 90 MB/s, and 5000" in said
    )
    published.write_text(f"{known}u/dark - - - n3\n")
    assert outcome(cluster, "write>=800MB/s! free>=4TB!")[0], "nothing is known of one"


@pytest.mark.parametrize(
    "text",
    ["", "ses-offers 1\nu/b 1 2 3 n1\n", f"ses-offers 2 {2**40}\n", f"ses-offers 2 {2**40}\nu/b 1 2 x n1\n"],
)
def test_a_file_that_says_nothing_refuses_nothing(cluster: Cluster, published: Path, text: str) -> None:
    published.write_text(text)
    assert outcome(cluster, "write>=50GB/s!")[0]


def test_an_old_file_refuses_nothing(cluster: Cluster, published: Path) -> None:
    published.write_text(
        re.sub(r"^ses-offers 2 \d+", f"ses-offers 2 {int(time.time()) - 400}", published.read_text())
    )
    assert outcome(cluster, "write>=50GB/s!")[0]
