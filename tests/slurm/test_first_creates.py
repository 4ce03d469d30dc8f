"""The first file of each rank is placed, by the table of its node, and counts until the job has ended."""

from collections import Counter
from pathlib import Path

from cluster import SECONDS, Cluster
from patience import wait_until
from ses_client.messages.message import JSON

RANKS = 64
STRANGER = "games"  # a user of Debian that no other test submits as
WRITE = 'exec 3>"$0/$SLURM_PROCID"; echo written >&3; sleep "$1"'


def open_files(cluster: Cluster, job: str) -> list[JSON]:
    """Return what the service's ledger holds of a job."""
    files: list[JSON] = cluster.client().files({"job": job, "state": "open"}, limit=1000)["files"]
    return files


def wait_for_open(cluster: Cluster, job: str, count: int) -> list[JSON]:
    creates: list[JSON] = []

    def are_open() -> bool:
        creates[:] = open_files(cluster, job)
        return len(creates) == count

    wait_until(are_open, lambda: f"{len(creates)} files of job {job} are open, not {count}", SECONDS)
    return creates


def test_first_creates_of_64_ranks_of_a_user_never_seen_are_placed_by_the_table(
    cluster: Cluster, directory: Path
) -> None:
    logs = cluster.work / "ranks"
    logs.mkdir()
    logs.chmod(0o1777)
    cluster.output(
        *("srun", "-N4", f"-n{RANKS}", "--storage=write>=20MB/s"),
        *("sh", "-c", WRITE, str(directory), "0"),
        user=STRANGER,
        SES_LOG=f"{logs}/%p",
    )
    said = [
        line.partition(f"{directory}/")[2] for log in logs.iterdir() for line in log.read_text().splitlines()
    ]
    first = Counter(line.rpartition(", distance")[0].partition(", ")[2] for line in said if line)
    assert sum(first.values()) == RANKS, said
    # One that meets the table while it is being replaced asks the agent, and is placed as well.
    assert first["chosen by the program"] >= 0.95 * RANKS, (first, said)
    assert first["chosen by the program"] + first["chosen by the agent"] == RANKS, (first, said)


def test_files_of_a_cancelled_job_stop_counting(cluster: Cluster, directory: Path) -> None:
    submitted = cluster.output(
        *("sbatch", "--parsable", "-N4", "-n8", "--output=/dev/null", "--storage=write>=20MB/s"),
        f"--wrap=srun sh -c '{WRITE}' {directory} 1000",
    )
    job = submitted.strip()
    files = wait_for_open(cluster, job, 8)
    assert {file["job"] for file in files} == {job}
    cluster.output("scancel", job)
    wait_for_open(cluster, job, 0)
