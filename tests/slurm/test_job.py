"""What a job's files got is known by the number of the job, and can be written into its record."""

import json
from pathlib import Path

from cluster import SECONDS, Cluster
from patience import wait_until

NEED = "write>=20MB/s"
# Holds its file open until it is told to go on: the agent then knows whose it is, however busy the machine.
WRITE = (
    'exec 3>"$0/$SLURM_PROCID"; dd if=/dev/zero bs=64k count=16 status=none >&3; '
    'until [ -e "$0/go" ]; do sleep 0.1; done'
)


def wait_for(cluster: Cluster, job: str, state: str, count: int) -> None:
    def number() -> int:
        return len(cluster.client().files({"job": job, "state": state}).files)

    what = f"{count} files of job {job} are {state}"
    wait_until(lambda: number() == count, what, SECONDS, every=0.1)


def wait_completed(cluster: Cluster, job: str) -> None:
    wait_until(
        lambda: "JobState=COMPLETED" in cluster.output("scontrol", "show", "job", job),
        lambda: cluster.output("scontrol", "show", "job", job),
        SECONDS,
    )


def submit(cluster: Cluster, directory: Path, after: str) -> str:
    """Submit a job whose four ranks write a file each, and let them end when all are known; its number."""
    ranks = f"srun -N2 --ntasks-per-node=2 sh -c '{WRITE}' {directory}"
    options = ("--parsable", "-N2", "-n4", "--output=/dev/null", f"--storage={NEED}")
    job = cluster.output("sbatch", *options, f"--wrap={ranks}; {after}").strip()
    wait_for(cluster, job, "open", 4)
    (directory / "go").touch()
    wait_for(cluster, job, "ended", 4)
    return job


def test_a_job_is_summed_up_and_its_record_says_so(cluster: Cluster, directory: Path) -> None:
    job = submit(cluster, directory, after="sleep 1000")
    answer = json.loads(cluster.output("ses", "job", job, "--comment", "--json"))
    assert answer["job"] == job
    assert sum(element["files"] for element in answer["elements"]) == 4
    assert sum(element["bytes_written"] for element in answer["elements"]) == 4 << 20
    (need,) = answer["needs"]
    assert (need["kind"], need["required"], need["unit"]) == ("current-write-rate", 20.0, "MB/s")
    assert sum(need["verdicts"].values()) == 4
    shown = cluster.output("scontrol", "show", "job", job)
    assert "AdminComment=storage: 4 files on " in shown
    assert "; current-write-rate>=20MB/s: promised " in shown
    record = cluster.work / "jobs" / job
    assert record.read_text() == f"user=0\njob={job}\n"
    cluster.output("scancel", job)
    wait_until(lambda: not record.exists(), f"the record of job {job} outlives it", SECONDS)


def test_a_job_that_is_another_users_gets_no_files_by_its_name(cluster: Cluster, directory: Path) -> None:
    """Without control groups: what a program names counts by what root has written on the node."""
    job = cluster.output(
        "sbatch", "--parsable", "-n1", "--nodelist=n1", "--output=/dev/null", "--wrap=sleep 999"
    )
    job = job.strip()
    claim = ("srun", "-n1", "--nodelist=n1", f"--storage={NEED}", "env", f"SLURM_JOB_ID={job}")
    (directory / "go").touch()
    cluster.output(*claim, "sh", "-c", WRITE, str(directory), user="daemon")
    files = wait_until(
        lambda: cluster.client().files({"path": str(directory)}).files, "its file is known", SECONDS
    )
    assert [file.job for file in files] == [None]
    cluster.output("scancel", job)


def test_what_a_batch_job_got_is_in_its_record_when_it_has_ended(cluster: Cluster, directory: Path) -> None:
    plugins = cluster.work / "plugstack.conf"
    before = plugins.read_text()
    plugins.write_text(before.replace("check=nodes", "check=nodes comment=batch"))
    try:
        job = submit(cluster, directory, after="true")
        wait_completed(cluster, job)
    finally:
        plugins.write_text(before)
    assert "AdminComment=storage: 4 files on " in cluster.output("scontrol", "show", "job", job)


def test_an_ended_job_is_not_commented_and_that_is_reported(cluster: Cluster, directory: Path) -> None:
    job = submit(cluster, directory, after="true")
    wait_completed(cluster, job)
    done = cluster.run("ses", "job", job, "--comment")
    assert done.returncode == 1
    assert "Slurm changes the record of a job only while it runs" in done.stderr


def test_words_of_a_job_are_not_taken_for_what_operators_wrote(cluster: Cluster, directory: Path) -> None:
    ranks = f"srun -N2 --ntasks-per-node=2 sh -c '{WRITE}' {directory}"
    name = "x\n   AdminComment=approved by root"
    options = ("--parsable", "-N2", "-n4", "--output=/dev/null", f"--storage={NEED}")
    job = cluster.output(
        "sbatch", *options, f"--job-name={name}", f"--comment={name}", f"--wrap={ranks}; sleep 1000"
    ).strip()
    wait_for(cluster, job, "open", 4)
    theirs = '{"project": "x",\n"paid": true}'
    cluster.output("scontrol", "update", f"JobId={job}", f"AdminComment={theirs}")
    cluster.output("ses", "job", job, "--comment")
    text = cluster.output("squeue", "--noheader", f"--jobs={job}", "--Format=admin_comment:9999").strip()
    comment = json.loads(text)
    assert comment.pop("qstorman").startswith("4 files on ")
    assert comment == json.loads(theirs), "theirs stays what it was"
    assert "approved" not in text
    (directory / "go").touch()
    cluster.output("scancel", job)
