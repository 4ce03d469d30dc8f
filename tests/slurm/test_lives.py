"""However the life of a job goes on and ends, the ledger has the files that its processes have open."""

import time
from collections import Counter
from pathlib import Path

import pytest
from cluster import Cluster
from open_files import HOLD, counted, held, wait_for
from patience import wait_until

BATCH = ("sbatch", "--parsable", "--output=/dev/null", "--storage=write>=20MB/s")
RANKS = 64
SAY_AGAIN = 4.0  # seconds


def submit(cluster: Cluster, directory: Path, *options: str, ranks: str = "") -> str:
    """Submit a job whose ranks hold a file each; its number."""
    wrapped = f"--wrap=srun {ranks} sh -c '{HOLD}' {directory}"
    return cluster.output(*BATCH, *options, wrapped).strip()


def state(cluster: Cluster, job: str) -> str:
    return cluster.output("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T").strip()


def begin_again(cluster: Cluster, job: str) -> None:
    """Let a job that was put back into the queue start in some seconds, not after Slurm's two minutes.

    Not at once: a node refuses a credential that is not a second younger than the end of the earlier life.
    More than once: Slurm sets the two minutes anew when the last part of the earlier life has ended.
    """
    said = time.monotonic()

    def runs() -> bool:
        nonlocal said
        now = state(cluster, job)
        if now == "PENDING" and time.monotonic() > said + SAY_AGAIN:
            cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
            said = time.monotonic()
        return now == "RUNNING"

    wait_until(runs, lambda: f"{state(cluster, job)}; {cluster.logs()}")


def test_tasks_of_an_array_end_one_by_one(cluster: Cluster, directory: Path) -> None:
    array = submit(cluster, directory, "--array=0-3", "-n2")
    jobs = Counter(file["job"] for file in wait_for(cluster, directory, 8))
    assert list(jobs.values()) == [2] * 4
    cluster.output("scancel", f"{array}_1")
    left = Counter(file["job"] for file in wait_for(cluster, directory, 6))
    assert left.items() < jobs.items()
    cluster.output("scancel", array)
    wait_for(cluster, directory, 0)


@pytest.mark.long
def test_parts_of_a_heterogeneous_job_have_the_need_of_the_first_or_of_their_step(
    cluster: Cluster, directory: Path
) -> None:
    show = f'echo "$SES_REQUIRE" >"$0/need.$SLURM_JOB_ID.$SLURM_PROCID"; {HOLD}'
    (directory / "second").mkdir()
    job = cluster.output(
        *("sbatch", "--parsable", "--output=/dev/null"),
        *("-N1", "-n1", "--storage=write>=20MB/s", ":", "-N1", "-n2"),
        f"--wrap=srun --overlap --het-group=0,1 sh -c '{show}' {directory} & "
        f"srun --overlap --het-group=1 '--storage=read>=30MB/s' sh -c '{show}' {directory}/second",
    ).strip()
    files = wait_for(cluster, directory, 5)
    assert {file["job"] for file in files} == {job}
    first, second = (
        [path.read_text().strip() for path in at.glob("need.*")] for at in (directory, directory / "second")
    )
    assert (first, second) == (["write>=20MB/s"] * 3, ["read>=30MB/s"] * 2)
    cluster.output("scancel", job)
    wait_for(cluster, directory, 0)


def test_a_job_that_is_requeued_leaves_nothing_and_starts_again(cluster: Cluster, directory: Path) -> None:
    job = submit(cluster, directory, "--requeue", "-N2", "-n4")
    before = {file["path"] for file in wait_for(cluster, directory, 4)}
    cluster.output("scontrol", "requeue", job)
    wait_for(cluster, directory, 0)
    begin_again(cluster, job)
    again = wait_for(cluster, directory, 4)
    assert {file["job"] for file in again} == {job}
    assert before.isdisjoint(file["path"] for file in again)
    cluster.output("scancel", job)
    wait_for(cluster, directory, 0)


def test_a_job_that_is_preempted_leaves_the_nodes_to_the_other(cluster: Cluster, directory: Path) -> None:
    job = submit(cluster, directory, "--requeue", "-N1", "-n2", "--nodelist=n2")
    wait_for(cluster, directory, 2)
    urgent = submit(cluster, directory, "--partition=urgent", "--exclusive", "--nodelist=n2", ranks="-n3")
    files = wait_for(cluster, directory, 3)
    assert ({file["job"] for file in files}, {file["node"] for file in files}) == ({urgent}, {"n2"})
    assert state(cluster, job) == "PENDING"
    cluster.output("scancel", job, urgent)
    wait_for(cluster, directory, 0)


@pytest.mark.long
def test_files_of_a_failed_node_stop_counting_when_it_is_back(cluster: Cluster, directory: Path) -> None:
    job = submit(cluster, directory, "--requeue", "--nodelist=n[3-4]", "-N2", "-n4")
    wait_for(cluster, directory, 4)
    cluster.fail("n4")
    cluster.output("scontrol", "update", "NodeName=n4", "State=DOWN", "Reason=failed")
    wait_until(lambda: not held(directory), lambda: f"still open: {held(directory)}")
    wait_until(
        lambda: {file["node"] for file in counted(cluster, directory)} <= {"n4"},
        lambda: f"files of other nodes still count: {counted(cluster, directory)}",
    )
    cluster.boot("n4")
    wait_for(cluster, directory, 0)
    begin_again(cluster, job)
    wait_for(cluster, directory, 4)
    cluster.output("scancel", job)
    wait_for(cluster, directory, 0)


def test_a_file_of_each_of_64_ranks(cluster: Cluster, directory: Path) -> None:
    job = submit(cluster, directory, "-N4", f"-n{RANKS}")
    files = wait_for(cluster, directory, RANKS)
    assert {file["job"] for file in files} == {job}
    assert Counter(file["node"] for file in files) == dict.fromkeys(cluster.sockets, RANKS // 4)
    (directory / "go").touch()
    wait_for(cluster, directory, 0)


def test_a_file_of_each_of_64_ranks_of_openmpi(cluster: Cluster, directory: Path) -> None:
    """mpirun starts its daemons on the other nodes by srun, and they start the ranks."""
    mpirun = f"mpirun --allow-run-as-root --oversubscribe sh -c '{HOLD}' {directory}"
    job = cluster.output(*BATCH, "-N4", f"-n{RANKS}", f"--wrap={mpirun}").strip()
    files = wait_for(cluster, directory, RANKS)
    assert {file["job"] for file in files} == {job}
    assert Counter(file["node"] for file in files) == dict.fromkeys(cluster.sockets, RANKS // 4)
    (directory / "go").touch()
    wait_for(cluster, directory, 0)
