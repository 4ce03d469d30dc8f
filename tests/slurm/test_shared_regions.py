"""Regions of libses-share that belong to a job: its tasks have them, others do not, and they end with it."""

import errno
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import BUILD
from cluster import SECONDS, Cluster
from extras_built import skip_without_extras
from patience import wait_until
from ses.share import regions

ROOT = Path(__file__).resolve().parents[2]
OWNER, STRANGER = "daemon", "games"
NODE = "n1"


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """A program that shares, for every user to run."""
    skip_without_extras()
    folder = Path(tempfile.mkdtemp(prefix="ses-share-", dir="/tmp"))
    folder.chmod(0o755)
    for library in BUILD.glob("libses-share.so*"):
        shutil.copy(library, folder, follow_symlinks=False)
    linked = ["-I", ROOT / "libses/extras/include", "-L", folder, "-lses-share", f"-Wl,-rpath,{folder}"]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
    made = folder / "shared_count"
    source = Path(__file__).with_name("shared_count.c")
    subprocess.run(["gcc", *flags, source, "-o", made, *linked], check=True)
    yield made
    shutil.rmtree(folder)


@pytest.fixture
def epilog(cluster: Cluster) -> Iterator[None]:
    """The site's epilog runs after each job, as long as the test does."""
    switch = cluster.work / "with-epilog"
    switch.touch()
    yield
    switch.unlink()


def names() -> set[str]:
    return {region.name for region in regions()}


def until_gone(region: str, cluster: Cluster) -> None:
    wait_until(lambda: region not in names(), cluster.logs, SECONDS)


def holding(cluster: Cluster, program: Path, directory: Path) -> str:
    """Submit a job of two tasks that share a region until the file `go` is there; its number.

    Returns when both have counted themselves.
    """
    out = directory / "counts"
    tasks = f"srun -n2 {program} job/run 2 {directory}/go"
    options = ("--parsable", "-N1", "-n2", f"--nodelist={NODE}", f"--output={out}", "--open-mode=append")
    job = cluster.output("sbatch", *options, f"--wrap={tasks}", user=OWNER).strip()
    wait_until(lambda: out.exists() and out.read_text().count("\n") >= 2, cluster.logs, SECONDS)
    assert out.read_text() == "2\n2\n", "each task sees that both were there"
    return job


def error_of(cluster: Cluster, program: Path, region: str, user: str) -> int:
    """The number of the error when another job on the node opens a region."""
    job = ("srun", "-N1", "-n1", f"--nodelist={NODE}")
    return int(cluster.output(*job, str(program), region, user=user))


@pytest.mark.usefixtures("epilog")
def test_two_tasks_of_a_job_share_a_region_that_other_jobs_cannot_open(
    cluster: Cluster, directory: Path, program: Path
) -> None:
    job = holding(cluster, program, directory)
    try:
        assert f"{job}/run" in names()
        assert error_of(cluster, program, "job/run", OWNER) == errno.ENOENT, "its own job has none"
        assert error_of(cluster, program, "job/run", STRANGER) == errno.ENOENT
        assert error_of(cluster, program, f"{OWNER}:{job}/run", STRANGER) == errno.EACCES
        assert error_of(cluster, program, f"{job}/run", OWNER) == 0, "the owner can name it from elsewhere"
        assert f"{job}/run" in names(), "the end of other jobs leaves it"
    finally:
        (directory / "go").touch()
    until_gone(f"{job}/run", cluster)


@pytest.mark.usefixtures("epilog")
def test_regions_of_a_cancelled_job_go_with_it(cluster: Cluster, directory: Path, program: Path) -> None:
    job = holding(cluster, program, directory)
    cluster.output("scancel", job)
    until_gone(f"{job}/run", cluster)
