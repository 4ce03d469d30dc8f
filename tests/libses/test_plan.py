"""A create that finds a ticket in the plan asks nobody, puts the file where it says, and reports it."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mergerfs_union import NOBODY, Union
from plan_double import CREATED, NOT_CREATED, PlanDouble

EEXIST = 17
EXCLUSIVE = str(os.O_CREAT | os.O_EXCL | os.O_WRONLY)
WRITE = str(os.O_CREAT | os.O_WRONLY)


@pytest.fixture
def make_plan(union: Union) -> Iterator[Callable[..., PlanDouble]]:
    """Segments for programs that use the union's agent; removed again whatever happens."""
    made: list[PlanDouble] = []

    def make(uid: int = 0, **fields: int) -> PlanDouble:
        made.append(PlanDouble(union.socket, uid, **fields))
        return made[-1]

    yield make
    for plan in made:
        plan.close()


@pytest.fixture
def plan(union: Union, make_plan: Callable[..., PlanDouble]) -> PlanDouble:
    """The plan of root, with a default entry for the union."""
    plan = make_plan()
    plan.entry(0, union.path.stat().st_dev)
    return plan


def place(union: Union, plan: PlanDouble, branch: int, uid: int = 0) -> int:
    """The place of the branch's element in the plan."""
    stage, through = union.agent.stages(branch, uid)
    return plan.element(f"union/b{branch + 1}", stage=str(stage), stage_in_union=str(through))


@pytest.mark.parametrize("flags", [EXCLUSIVE, WRITE])
@pytest.mark.parametrize("branch", [0, 1, 2])
def test_ticket_puts_the_file_on_its_branch_and_is_reported(
    union: Union, plan: PlanDouble, probes: Path, branch: int, flags: str
) -> None:
    plan.ticket(0, 4711, place(union, plan, branch))
    done = union.run(probes / "create", "open", flags, "0640", "022", union.path / "file")
    assert "fd=3 errno=4321" in done.stdout
    assert "open=0,1,2,3," in done.stdout
    assert union.agent.connections == 0
    assert union.copies(union.path / "file") == [branch]
    status, directory = (union.path / "file").stat(), union.path.stat()
    assert status.st_nlink == 1
    assert status.st_mode & 0o7777 == 0o640
    (report,) = plan.reports()
    assert (report.placement_id, report.outcome, report.error, report.fd) == (4711, CREATED, 0, 3)
    assert (report.device, report.inode) == (status.st_dev, status.st_ino)
    assert (report.directory_device, report.directory_inode) == (directory.st_dev, directory.st_ino)
    assert (report.path, report.dirfd, report.application) == (str(union.path / "file"), -100, "create")
    assert report.pid > 0
    assert plan.stock(0) == 0
    assert plan.missed(0) == 0
    assert union.agent.leftovers() == []


def test_tickets_are_taken_in_order_and_once(union: Union, plan: PlanDouble, probes: Path) -> None:
    for number in range(30):
        plan.ticket(0, 100 + number, place(union, plan, number % 3))
    union.run(probes / "process", "many", "30", union.path)
    assert [report.placement_id for report in plan.reports()] == list(range(100, 130))
    assert [union.copies(union.path / f"many-{number}") for number in range(30)] == [
        [n % 3] for n in range(30)
    ]
    assert union.agent.connections == 0


def test_application_with_an_entry_of_its_own_leaves_the_default_alone(
    union: Union, plan: PlanDouble, probes: Path
) -> None:
    plan.entry(1, union.path.stat().st_dev, "special")
    plan.ticket(0, 1, place(union, plan, 0))
    plan.ticket(1, 2, place(union, plan, 1))
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file", SES_APPLICATION="special")
    assert [(report.placement_id, report.application) for report in plan.reports()] == [(2, "special")]
    assert union.copies(union.path / "file") == [1]


@pytest.mark.parametrize("sync_ms", ["20000", "0"])
def test_dry_entry_is_counted_and_the_agent_asked(
    union: Union, plan: PlanDouble, probes: Path, sync_ms: str
) -> None:
    """Dry, too, is an application's own entry beside a default one that is full."""
    union.agent.choose = lambda _: 2
    plan.entry(1, union.path.stat().st_dev, "create")
    plan.ticket(0, 1, place(union, plan, 0))
    union.run(probes / "create", "open", EXCLUSIVE, "0644", "022", union.path / "file", SES_SYNC_MS=sync_ms)
    assert len(union.agent.asks) == (sync_ms != "0")
    assert plan.missed(1) == 1
    assert plan.stock(0) == 1
    assert plan.reports() == []
    assert plan.slots() == [0] * len(plan.slots())
    assert sync_ms == "0" or union.copies(union.path / "file") == [2]


def test_program_that_never_asks_takes_tickets(union: Union, plan: PlanDouble, probes: Path) -> None:
    plan.ticket(0, 1, place(union, plan, 1))
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file", SES_SYNC_MS="0")
    assert union.copies(union.path / "file") == [1]
    assert [report.placement_id for report in plan.reports()] == [1]


@pytest.mark.parametrize("flags", [EXCLUSIVE, WRITE])
def test_file_that_exists_is_not_touched(union: Union, plan: PlanDouble, probes: Path, flags: str) -> None:
    (union.branches[0] / "file").write_text("old")
    plan.ticket(0, 1, place(union, plan, 1))
    done = union.run(probes / "create", "open", flags, "0644", "022", union.path / "file")
    assert ("errno=17" in done.stdout) == (flags == EXCLUSIVE)
    assert (union.path / "file").read_text() == "old"
    assert union.copies(union.path / "file") == [0]
    assert plan.stock(0) == (flags == WRITE)
    assert [(r.outcome, r.error, r.fd) for r in plan.reports()] == [(NOT_CREATED, EEXIST, -1)] * (
        flags == EXCLUSIVE
    )
    assert union.agent.leftovers() == []


def test_waiting_for_a_lock_file_does_not_use_tickets_up(
    union: Union, plan: PlanDouble, probes: Path
) -> None:
    for number in range(100):
        plan.ticket(0, 1 + number, place(union, plan, 1))
    (union.branches[0] / "many-0").write_text("lock")
    union.run("bash", "-c", "set -C; for i in {1..300}; do : > many-0; done 2> /dev/null; true")
    assert plan.stock(0) >= 90


@pytest.mark.parametrize("way", ["fork", "threads", "signal", "jump"])
def test_unusual_circumstances_are_served(union: Union, plan: PlanDouble, probes: Path, way: str) -> None:
    for number in range(1024):
        plan.ticket(0, 1 + number, place(union, plan, number % 3))
    arguments = {"fork": [], "threads": ["50"], "signal": ["14"], "jump": ["60"]}[way]
    reports = []
    for _ in range(10):  # on a busy machine the signal may come before every create
        for left in filter(Path.is_file, union.path.iterdir()):
            left.unlink()
        union.run(probes / "process", way, *arguments, union.path, SES_SYNC_MS="0")
        reports = plan.reports()
        if reports:
            break
    assert len({report.placement_id for report in reports}) == len(reports) >= 1
    assert {(report.outcome, report.error) for report in reports} == {(CREATED, 0)}
    assert union.agent.leftovers() == []


def test_lock_on_standard_input_is_kept(union: Union, plan: PlanDouble, tmp_path: Path) -> None:
    """A process loses its POSIX locks on a file with the first descriptor of it that it closes."""
    (tmp_path / "lock").touch()
    script = (
        "import fcntl, os, sys\n"
        "os.dup2(os.open(sys.argv[2], os.O_RDWR), 0)\n"
        "fcntl.lockf(0, fcntl.LOCK_EX)\n"
        "os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
        "if os.fork() == 0:\n"
        "    fcntl.lockf(0, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "    os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    plan.ticket(0, 4711, place(union, plan, 1))
    done = union.run(sys.executable, "-c", script, union.path / "file", tmp_path / "lock")
    assert done.stdout == "1\n", "the child is refused the lock"
    assert [report.outcome for report in plan.reports()] == [CREATED]


def test_child_of_fork_reports_its_own_number(union: Union, plan: PlanDouble, probes: Path) -> None:
    for number in range(4):
        plan.ticket(0, 1 + number, place(union, plan, 1))
    script = "import os\n"
    script += "def make(name): os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644)); return os.getpid()\n"
    script += "pids = [make('a')]\nread, write = os.pipe()\n"
    script += "if os.fork() == 0: os.write(write, str(make('b')).encode()); os._exit(0)\n"
    script += "os.wait(); print(pids[0], os.read(read, 20).decode(), make('c'))"
    done = union.run(sys.executable, "-I", "-S", "-c", script)
    assert [str(report.pid) for report in plan.reports()] == done.stdout.split()


@pytest.mark.parametrize("way", ["vfork", "seccomp"])
def test_plan_is_not_used_where_a_question_would_not_be_asked(
    union: Union, plan: PlanDouble, probes: Path, way: str
) -> None:
    plan.ticket(0, 1, place(union, plan, 1))
    union.run(probes / "process", way, union.path, SES_SYNC_MS="0")
    used = [Path(report.path).name for report in plan.reports()]
    assert used == (["vfork-parent-0"] if way == "vfork" else [])
    assert union.agent.connections == 0


def test_other_user_takes_from_a_plan_of_their_own(
    union: Union, plan: PlanDouble, make_plan: Callable[..., PlanDouble], probes: Path
) -> None:
    directory = union.path / "shared"
    directory.mkdir()
    directory.chmod(0o777)
    theirs = make_plan(NOBODY)
    theirs.entry(0, union.path.stat().st_dev)
    theirs.ticket(0, 5, place(union, theirs, 2, NOBODY))
    plan.ticket(0, 6, place(union, plan, 1))
    user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    union.run(*user, probes / "create", "open", WRITE, "0644", "022", directory / "file")
    assert [report.placement_id for report in theirs.reports()] == [5]
    assert plan.stock(0) == 1
    assert union.copies(directory / "file") == [2]
    assert (directory / "file").stat().st_uid == NOBODY


def test_process_that_becomes_another_user_leaves_the_former_plan_alone(
    union: Union, plan: PlanDouble
) -> None:
    directory = union.path / "shared"
    directory.mkdir()
    directory.chmod(0o777)
    for number in range(3):
        plan.ticket(0, 1 + number, place(union, plan, 1))
    script = "import os\nfor name, user in (('a', 0), ('b', 65534), ('c', 0)):\n"
    script += "    os.seteuid(user); os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644))"
    union.run(sys.executable, "-I", "-S", "-c", script, cwd=directory, SES_SYNC_MS="0")
    assert [report.path for report in plan.reports()] == ["a", "c"]


# Arguments: a directory, how to name it.  A file, a default ACL by which others get nothing, a file.
ACL_BETWEEN_FILES = """
import os, struct, sys
directory, way = sys.argv[1:]
def create(name):
    os.close(os.open(f"{directory}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
entries = [(1, 7, -1), (2, 6, 1234), (4, 5, -1), (16, 7, -1), (32, 0, -1)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
target = os.open(directory, os.O_RDONLY) if way == "fd" else directory
create("before")
os.setxattr(target, "system.posix_acl_default", acl, follow_symlinks=way != "link")
create("after")
for name in ("before", "after"):
    print(oct(os.stat(f"{directory}/{name}").st_mode), os.listxattr(f"{directory}/{name}"))
"""


@pytest.mark.parametrize("way", ["path", "link", "fd"])
def test_default_acl_that_the_program_sets_holds_at_once(union: Union, plan: PlanDouble, way: str) -> None:
    """Also right after a ticket was redeemed there, when the directory has just been looked at."""
    for number in range(4):
        plan.ticket(0, 4711 + number, place(union, plan, 0))
    printed = []
    for library in (True, False):
        (directory := union.path / str(library)).mkdir()
        command = (sys.executable, "-c", ACL_BETWEEN_FILES, directory, way)
        printed.append(union.run(*command, library=library).stdout)
    assert printed[0] == printed[1]
    assert "system.posix_acl_access" in printed[0]
    assert [report.outcome for report in plan.reports()] == [CREATED]
