"""slurmctld keeps a job from nodes whose storage cannot meet what is hard, by a file, and asks nobody."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import Cluster

NEED = "--storage=write>=50MB/s! read>=500GB/s"  # that of reading is soft
HEAD = "ses-offers 2 {}\n"
OFFERS = "u/slow 10.000 90.000 5 n[1-2]\nu/fast 90.000 90.000 5 n[3-4]\n"

Write = Callable[[str], None]


@pytest.fixture
def offers(cluster: Cluster) -> Iterator[Write]:
    """Write the file that slurmctld reads, as of now."""
    file = cluster.work / "steering"

    def write(text: str) -> None:
        file.write_text(HEAD.format(int(time.time())) + text)

    yield write
    file.unlink()


def excluded(cluster: Cluster, *options: str, need: str = NEED) -> str:
    """Submit a job that stays in the queue; the nodes it is kept from."""
    submit = ("sbatch", "--parsable", "--hold", "-n1", "--output=/dev/null", need, *options)
    job = cluster.output(*submit, "--wrap=true").strip()
    shown = cluster.output("scontrol", "show", "job", job)
    cluster.output("scancel", job)
    (nodes,) = re.findall(r"ExcNodeList=(\S+)", shown)
    return str(nodes)


def test_a_job_is_kept_from_nodes_that_reach_no_such_storage(cluster: Cluster, offers: Write) -> None:
    offers(OFFERS)
    assert excluded(cluster) == "n[1-2]"
    assert excluded(cluster, "--exclude=n4") == "n[1-2,4]"
    assert excluded(cluster, "--nodelist=n1") == "(null)", "who names a node gets it"
    assert excluded(cluster, need="--storage=write>=50MB/s") == "(null)", "nothing is hard"
    assert cluster.output("srun", "-n1", NEED, "sh", "-c", "echo $SLURMD_NODENAME").strip() in ("n3", "n4")


@pytest.mark.parametrize("command", ["srun", "salloc", "sbatch"])
def test_a_job_that_no_node_can_serve_is_refused_by_slurmctld(
    cluster: Cluster, offers: Write, command: str
) -> None:
    offers("u/slow 10.000 90.000 5 n[1-2]\n- 0.000 0.000 0.000 n[3-4]\n")
    done = cluster.run(command, "-n1", NEED, *(["--wrap=true"] if command == "sbatch" else ["true"]))
    assert done.returncode != 0
    assert (
        "the nearest is u/slow from n[1-2], where a stream would write 10.000 and read 90.000" in done.stderr
    )


def test_what_the_service_publishes_is_understood(cluster: Cluster, offers: Write) -> None:
    offers("")
    cluster.output("ses", "nodes", "publish", str(cluster.work / "steering"))
    assert excluded(cluster, need="--storage=write>=1MB/s!") == "(null)"
    away = {"SES_SERVICE_URL": "unix:/nonexistent"}  # or check=nodes of the plugin would refuse it
    done = cluster.run("sbatch", "-n1", "--storage=write>=50GB/s!", "--wrap=true", **away)
    assert done.returncode != 0
    assert re.search(r"the nearest is \S+/b\d from \S+, where a stream would", done.stderr), done.stderr


@pytest.mark.parametrize(
    "text",
    ["", "ses-offers 2 1\nu/slow 10 90 5 n[1-4]\n", "ses-offers 1\nu/slow 10 90 5 n[1-4]\n",
     HEAD.format(2**40), HEAD.format(2**40) + "u/slow 10 90\n", HEAD.format(2**40) + "u/slow - - - n[1-4]\n"],
    ids=["empty", "old", "of another version", "no offers", "damaged", "nothing is known"],
)  # fmt: skip
def test_a_file_that_says_nothing_keeps_no_job_from_any_node(
    cluster: Cluster, offers: Write, text: str
) -> None:
    offers("")
    (cluster.work / "steering").write_text(text)
    assert excluded(cluster) == "(null)"


def test_without_the_file_jobs_are_taken_as_they_are(cluster: Cluster) -> None:
    assert not Path(cluster.work / "steering").exists()
    assert excluded(cluster) == "(null)"
