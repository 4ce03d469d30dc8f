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
    who_asks = ("env", "SQUEUE_USERS=daemon", "SQUEUE_FORMAT=%i")  # what squeue shows him of other jobs
    answer = json.loads(cluster.output(*who_asks, "ses", "job", job, "--comment", "--json"))
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


def commented(cluster: Cluster, job: str) -> str:
    """What Slurm has for the record of one job."""
    shown = cluster.output(
        "squeue", "--noheader", f"--jobs={job}", "--Format=JobArrayID:32,admin_comment:999"
    )
    lines = dict(line.split(None, 1) for line in shown.splitlines())
    return lines[job].strip()


def test_a_task_of_an_array_gets_its_own_line_and_no_other_task(cluster: Cluster, directory: Path) -> None:
    """The number of the last task is that of the array, by which Slurm changes all of its tasks."""
    program = WRITE.replace("SLURM_PROCID", "SLURM_ARRAY_TASK_ID")
    options = ("--parsable", "-n1", "--array=1-2", "--output=/dev/null", f"--storage={NEED}")
    array = cluster.output(
        "sbatch", *options, f"--wrap=srun sh -c '{program}' {directory}; sleep 1000"
    ).strip()
    for task in (1, 2):
        path = str(directory / str(task))
        wait_until(
            lambda path=path: cluster.client().files({"path": path}).files, f"{path} is known", SECONDS
        )
        cluster.output("scontrol", "update", f"JobId={array}_{task}", f"AdminComment=project {task}")
    cluster.output("ses", "job", array, "--comment")
    assert commented(cluster, f"{array}_1") == "project 1", "it is the other task's line"
    assert commented(cluster, f"{array}_2").startswith("project 2 | storage: 1 files on ")
    said = json.loads(cluster.output("ses", "job", f"{array}_1", "--comment", "--json"))
    assert (sum(element["files"] for element in said["elements"]), said["job"] != array) == (1, True)
    assert commented(cluster, f"{array}_1").startswith("project 1 | storage: 1 files on ")
    assert json.loads(cluster.output("ses", "job", f"{array}_1", "--json"))["job"] == said["job"]
    cluster.output("scancel", array)


def test_a_part_of_a_heterogeneous_job_gets_its_own_line(cluster: Cluster, directory: Path) -> None:
    options = ("-n1", "--output=/dev/null", f"--storage={NEED}")
    wrap = f"--wrap=srun sh -c '{WRITE}' {directory}; sleep 1000"
    job = cluster.output("sbatch", "--parsable", *options, ":", "-n1", wrap).strip()
    wait_for(cluster, job, "open", 1)
    cluster.output("scontrol", "update", f"JobId={job}+1", "AdminComment=of the other part")
    cluster.output("ses", "job", job, "--comment")
    assert commented(cluster, f"{job}+0").startswith("storage: 1 files on ")
    assert commented(cluster, f"{job}+1") == "of the other part"
    cluster.output("scancel", job)
