"""A file counts for a job only if something that only root writes says that the job is its user's."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from agent_sources import link
from patience import PATIENCE
from running_agent import record_job

UID = 1000
OTHER = 1001
SESSION = "/user.slice/user-1000.slice/user@1000.service/app.slice"
SCOPE = "/system.slice/slurmstepd.scope"

Jobs = Callable[..., str]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """Run the probe; what it prints."""
    program = link(tmp_path_factory.mktemp("jobs") / "jobs", "jobs.cpp")

    def run(*arguments: object, groups: str | bytes = "", **environment: str) -> str:
        text = groups.encode() if isinstance(groups, str) else groups
        command = [program, *map(str, arguments)]
        done = subprocess.run(
            command, input=text, env=environment, capture_output=True, timeout=600, check=True
        )
        return done.stdout.decode()

    return run


@pytest.mark.parametrize(
    ("path", "job"),
    [
        (f"/slurm/uid_{UID}/job_7/step_0/task_0", "'7'"),
        (f"/slurm_n1/uid_{UID}/job_7", "'7'"),
        (f"{SCOPE}/job_7/step_extern/user/task_special", "'7'"),
        ("/system.slice/n1_slurmstepd.scope/job_7/step_batch/user", "'7'"),
        ("/pbspro/12.server", "'12.server'"),
        ("/pbspro.service/jobid/12.server/more", "'12.server'"),
        ("/pbs_jobs.service/jobid/12[4].server", "'12[4].server'"),
        ("/lsf/cluster1/job.12.345.678/one", "'12'"),
        # Another user's, by the name that Slurm gave the group.
        (f"/slurm/uid_{OTHER}/job_7/step_0", "''"),
        # What a user calls groups of their own, below the session or below the group of a job.
        (f"{SESSION}/job_999", "none"),
        (f"{SESSION}/slurm/uid_{UID}/job_999", "none"),
        (f"{SESSION}{SCOPE}/job_999", "none"),
        (f"{SESSION}/lsf/c/job.999.1", "none"),
        (f"/slurm/uid_{UID}/job_7/step_0/job_999", "'7'"),
        (f"{SCOPE}/job_7/step_0/user/slurmstepd.scope/job_999", "'7'"),
        (f"{SCOPE}/job_7/step_0/user{SCOPE}/job_999", "'7'"),
        (f"/lsf/c/job.12.1/slurm/uid_{UID}/job_999", "'12'"),
        # Names that are near those of batch systems, and no jobs.
        (f"/slurmish/uid_{UID}/job_999", "none"),
        (f"/slurm/uid_{UID}x/job_999", "none"),
        ("/slurm/job_999", "none"),
        (f"/slurm/uid_{UID}/x/job_999", "none"),
        (f"/x/slurm/uid_{UID}/job_999", "none"),
        (f"/../slurm/uid_{UID}/job_999", "none"),
        ("/system.slice/cron.service/job_999", "none"),
        ("/system.slice/myslurmstepd.scope/job_999", "none"),
        ("/system.slice/x.service/slurmstepd.scope/job_999", "none"),
        (f"{SCOPE}/job_", "none"),
        (f"{SCOPE}/job_9 9", "none"),
        (f"{SCOPE}/job_9\\0129", "none"),
        (f"{SCOPE}/job_-9", "none"),
        (f"{SCOPE}/job_{'9' * 64}", "none"),
        ("/lsf/c/job.", "none"),
        ("/pbspro/", "none"),
        ("/", "none"),
        ("", "none"),
    ],
)
@pytest.mark.parametrize("line", ["0::{}", "4:cpuacct,cpu:{}", "1:name=systemd:{}"])
def test_only_groups_that_root_makes_name_a_job(jobs: Jobs, line: str, path: str, job: str) -> None:
    assert jobs("in", UID, groups=f"9:pids:/\n{line.format(path)}\n8:devices:/user.slice\n") == job


@pytest.mark.parametrize(
    "groups",
    [
        f"0::{SESSION}/x\n{SCOPE}/job_999",  # the kernel refuses such names
        f"0::{SESSION}/x\n0:{SCOPE}/job_999",
        f"0::{SESSION}/x:{SCOPE}/job_999",
        f"0::{SESSION}/1:name=a:/slurm/uid_{UID}/job_999",
        f"x::{SCOPE}/job_999",
        f"::{SCOPE}/job_999",
        b"0::/system.slice/slurmstepd.scope/job_9\x009\n",
        b"0::/system.slice/slurmstepd.scope/job_\xff\n",
        b"\n\n:\n::\n0::",
    ],
)
def test_a_name_with_odd_bytes_is_no_line_of_its_own(jobs: Jobs, groups: str | bytes) -> None:
    assert jobs("in", UID, groups=groups) == "none"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an empty tree of control groups in it, and who runs the tests has job 7."""
    path = tmp_path_factory.mktemp("place")
    (path / "groups").mkdir()
    record_job(path / "jobs", 7, os.getuid())
    record_job(path / "jobs", 8, os.getuid() + 1)
    return path


@pytest.fixture
def process() -> Iterator[Callable[..., int]]:
    """Start a process in an environment; its number."""
    with ExitStack() as ending:

        def start(**environment: str) -> int:
            sleeper = ending.enter_context(subprocess.Popen(["/bin/sleep", "1000"], env=environment))
            ending.callback(sleeper.kill)
            return sleeper.pid

        yield start


def gone() -> int:
    """Return the number of a process that there was."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return ended.pid


def test_a_job_that_a_program_names_counts_if_root_says_whose_it_is(
    jobs: Jobs, place: Path, process: Callable[..., int]
) -> None:
    of = ("of", place / "jobs", place / "groups", process(), os.getuid())
    assert jobs(*of, "7") == "'7'"
    assert jobs(*of, "8") == "''", "it is another user's"
    assert jobs(*of, "9") == "''", "nobody knows whose it is"
    assert jobs(*of, "../jobs/7") == jobs(*of, ".7") == jobs(*of, "") == "''"
    assert jobs("of", place / "none", *of[2:], "7") == "''"
    assert jobs("of", "", *of[2:], "7") == "''"


def test_a_job_that_a_program_was_started_with_counts_if_root_says_whose_it_is(
    jobs: Jobs, place: Path, process: Callable[..., int]
) -> None:
    for job, counts in {"7": "'7'", "8": "''", "9": "''", "7 or\nmore": "''"}.items():
        for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"):
            pid = process(**{"LANG": "C", name: job})
            assert jobs("of", place / "jobs", place / "groups", pid, os.getuid()) == counts
    assert jobs("of", place / "none", place / "groups", process(SLURM_JOB_ID="7"), os.getuid()) == "''"


def test_of_a_process_that_is_gone_counts_what_it_named_and_root_says_is_its_users(
    jobs: Jobs, place: Path
) -> None:
    of = ("of", place / "jobs", place / "groups", gone(), os.getuid())
    assert jobs(*of, "7") == "'7'"
    assert jobs(*of, "8") == jobs(*of, "9") == "''"
    assert jobs(*of) == "''", "it named none while it lived"


def test_a_process_of_another_user_under_the_number_says_nothing(
    jobs: Jobs, place: Path, process: Callable[..., int]
) -> None:
    pid = process(SLURM_JOB_ID="8")
    of = ("of", place / "jobs", place / "groups", pid, os.getuid() + 1)
    assert jobs(*of) == "''"
    assert jobs(*of, "8") == "'8'"
    assert jobs(*of, "7") == "''"


@pytest.mark.parametrize(
    "group",
    ["freezer/slurm/uid_5/job_7", "system.slice/n1_slurmstepd.scope/job_7", "memory/slurm_n/uid_5/job_7"],
)
def test_a_process_outside_the_control_group_of_a_job_is_none_of_it(
    jobs: Jobs, place: Path, process: Callable[..., int], group: str
) -> None:
    of = (os.getuid(), "7")
    pid = process()
    (place / "groups" / group).parent.mkdir(parents=True)
    assert jobs("of", place / "jobs", place / "groups", pid, *of) == "'7'"
    (place / "groups" / group).mkdir()
    assert jobs("of", place / "jobs", place / "groups", pid, *of) == "''"
    assert jobs("of", place / "jobs", place / "groups", gone(), *of) == "'7'"


@pytest.mark.parametrize("what", ["directory", "file"])
@pytest.mark.parametrize("way", ["writable", "another's", "link"])
@pytest.mark.root
def test_what_others_could_have_written_says_nothing(
    jobs: Jobs, place: Path, process: Callable[..., int], what: str, way: str
) -> None:
    path = place / "jobs" if what == "directory" else place / "jobs/7"
    if way == "writable":
        path.chmod(0o777 if what == "directory" else 0o666)
    elif way == "another's":
        os.chown(path, 65534, 65534)
    else:
        path.symlink_to(path.rename(place / "elsewhere"))
    assert jobs("of", place / "jobs", place / "groups", process(), os.getuid(), "7").endswith("''")


@pytest.fixture
def group() -> Iterator[Callable[[int, int], Path]]:
    """Make the control group of a job of a user, as Slurm does; it goes with the test."""
    top = Path(f"/sys/fs/cgroup/freezer/slurm_t{os.getpid()}")
    form = top / "uid_{}/job_{}/step_0"
    if not top.parent.is_dir():
        top = Path(f"/sys/fs/cgroup/system.slice/t{os.getpid()}_slurmstepd.scope")
        form = top / "job_{1}/step_0"

    def make(uid: int, job: int) -> Path:
        made = Path(str(form).format(uid, job))
        try:
            made.mkdir(parents=True)
        except OSError as error:
            pytest.skip(f"no control group can be made here: {error}")
        return made

    yield make
    made = sorted(top.rglob("*/"), key=lambda path: len(path.parts), reverse=True) if top.exists() else []
    for control_group in (*made, *([top] if top.exists() else [])):
        end = time.monotonic() + PATIENCE
        while control_group.is_dir() and time.monotonic() < end:
            with suppress(OSError):  # a process that ended is in it for a moment
                control_group.rmdir()


@pytest.mark.root
def test_the_control_group_decides_whatever_a_process_names(
    jobs: Jobs, place: Path, group: Callable[[int, int], Path], process: Callable[..., int]
) -> None:
    uid = os.getuid()
    pid = process(SLURM_JOB_ID="7")
    of = ("of", place / "jobs", place / "groups", pid, uid)
    own = group(uid, 4711)
    (own / "cgroup.procs").write_text(str(pid))
    assert jobs(*of) == jobs(*of, "7") == "'4711'"
    below = own / "job_999"
    below.mkdir()
    (below / "cgroup.procs").write_text(str(pid))
    assert jobs(*of) == jobs(*of, "999") == "'4711'"
    record_job(place / "jobs", 4711, uid + 1)
    assert jobs(*of) == jobs(*of, "7") == "''", "root says that it is another user's"
