"""A create chooses from the candidate table, puts the file there, and claims it; nobody is asked."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import ses_core
from fake_table import (
    ASLEEP_AT,
    COUNTED_AT,
    CREATED,
    ELEMENTS,
    FEW_AT,
    NEXT_AT,
    NOT_CREATED,
    STAGED_AT,
    STREAMS_AT,
    FakeClaims,
    FakeTable,
    placement_id,
)
from mergerfs_union import NOBODY, Union
from ses_core.layout import Kind

EEXIST = 17
EXCLUSIVE = str(os.O_CREAT | os.O_EXCL | os.O_WRONLY)
WRITE = str(os.O_CREAT | os.O_WRONLY)
PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")


@pytest.mark.parametrize("flags", [EXCLUSIVE, WRITE])
@pytest.mark.parametrize("branch", [0, 1, 2])
def test_file_lies_where_was_chosen_and_the_claim_says_all(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, branch: int, flags: str
) -> None:
    table.only(branch)
    table.elements()["own"][:] = 3
    claims.need(0, (Kind.CURRENT_WRITE, False, False, 5e6, 1.0), digest=77, room=1e9)
    claims.put64(NEXT_AT, 41)
    done = union.run(probes / "create", "open", flags, "0640", "022", union.path / "file")
    assert "fd=3 errno=4321" in done.stdout
    assert "open=0,1,2,3," in done.stdout
    assert union.agent.connections == 0
    assert union.copies(union.path / "file") == [branch]
    status, directory = (union.path / "file").stat(), union.path.stat()
    assert status.st_nlink == 1
    assert status.st_mode & 0o7777 == 0o640
    (claim,) = claims.claims()
    assert (claim.number, claim.outcome, claim.error, claim.fd) == (41, CREATED, 0, 3)
    assert (claim.device, claim.inode) == (status.st_dev, status.st_ino)
    assert (claim.directory_device, claim.directory_inode) == (directory.st_dev, directory.st_ino)
    assert (claim.path, claim.dirfd, claim.application) == (str(union.path / "file"), -100, "create")
    assert (claim.system, claim.rows, claim.attempts, claim.epoch, claim.digest) == (
        0,
        (branch,),
        1,
        1000,
        77,
    )
    assert claim.need == ses_core.need((Kind.CURRENT_WRITE, False, False, 5e6, 1.0), room=1e9)
    assert claim.seen == (3, 3, 3, *[0] * 61)
    assert claim.pid > 0
    assert claims.claimed() == [int(row == branch) for row in range(ELEMENTS)]
    assert union.agent.leftovers() == []


def test_staged_file_has_the_name_of_the_claims_id(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    table.only(1)
    trace = union.path.parent / "trace"
    tracer = ("strace", "-qq", "-o", trace, "-e", "trace=openat")
    union.run(*tracer, probes / "create", "open", WRITE, "0644", "022", union.path / "file")
    staged = union.agent.stages(1, 0)[0] / f"{placement_id(claims.instance, 0):016x}"
    assert f'"{staged}", O_RDONLY|O_CREAT|O_EXCL' in trace.read_text()


def test_chooses_what_the_core_says(union: Union, table: FakeTable, claims: FakeClaims) -> None:
    """Loads, claims not yet counted, needs and exclusions at random."""
    chance = random.Random(5)
    elements = table.elements()[:3]
    names, expected = [], []
    policy = ses_core.defaults()
    for number in range(40):
        with table.change():
            for row in range(3):
                elements["write_rate"][row] = chance.choice([5e7, 1e8, 2e8, np.nan])
                elements["foreign"][row] = chance.choice([0, 0, 1.5, 4])
                elements["busy"][row] = chance.random()
                elements["own"][row] = chance.randrange(4)
                elements["free"][row] = chance.choice([1e9, 5e11])
                elements["last_placed"][row] = chance.randrange(9)
        need = [(Kind.CURRENT_WRITE, chance.random() < 0.2, False, chance.choice([3e7, 9e7]), 1.0)]
        claims.need(0, *need, room=chance.choice([-1.0, 1e10]))
        staged = chance.choice([7, 7, 6, 5])
        claims.put64(STAGED_AT, staged)
        for row in range(3):
            claims.put32(COUNTED_AT + 4 * row, claims.claimed()[row] - chance.randrange(3))
        ahead = np.array(claims.claimed()[:3], np.uint32) - np.array(claims.counted()[:3], np.uint32)
        asked = np.frombuffer(claims.read(8192 + 24, 216), ses_core.layout.NEED)
        excluded = np.array([~staged & 0xFFFFFFFFFFFFFFFF], np.uint64)
        expected.append(
            ses_core.Query(elements.copy(), asked, policy, claims=ahead, excluded=excluded).choose()
        )
        names.append(f"file-{number}")
        union.run("touch", names[-1], SES_SYNC_MS="0")
    assert len(set(expected)) > 2
    rows = {claim.path: claim.rows[0] for claim in claims.claims()}
    assert [rows.get(name, -1) for name in names] == expected


def test_own_claims_count_at_once(union: Union, claims: FakeClaims, probes: Path) -> None:
    """Before any agent has looked, the next file goes elsewhere."""
    union.run(probes / "process", "many", "30", union.path)
    assert claims.claimed()[:3] == [10, 10, 10]
    assert [claim.rows for claim in claims.claims()] == [(number % 3,) for number in range(30)]
    assert [claim.seen[:3] for claim in claims.claims()[:4]] == [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]


def test_claims_that_were_counted_are_not_added_again(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    table.only(0)
    union.run(probes / "process", "many", "4", union.path)
    table.exclude(0)
    table.count(claims)
    assert table.elements()["own"][0] == 4
    union.run("touch", "next")
    assert claims.claims()[-1].seen[:3] == (4, 0, 0)


def test_taken_back_claims_that_were_counted_leave_none_missing(union: Union, claims: FakeClaims) -> None:
    claims.put32(COUNTED_AT, 1)  # one more than was claimed
    union.run("touch", "file")
    assert [claim.rows for claim in claims.claims()] == [(0,)]


def test_excluded_and_unstaged_rows_are_never_chosen(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    table.exclude(0b001)
    claims.put64(STAGED_AT, ~0b100 & 0xFFFFFFFFFFFFFFFF)
    union.run(probes / "process", "many", "12", union.path)
    assert {claim.rows for claim in claims.claims()} == {(1,)}


def test_few_are_compared_where_the_table_says_so(union: Union, table: FakeTable, claims: FakeClaims) -> None:
    table.put32(table.system_at() + FEW_AT, 2)
    for number in range(4):
        union.run("touch", f"file{number}")
        for row in range(3):  # as an agent does after the end of the file
            claims.put32(COUNTED_AT + 4 * row, claims.claimed()[row])
    assert claims.claimed()[:3] == [4, 0, 0]
    table.elements()["own"][:2] = 1
    union.run("touch", "next")
    assert claims.claims()[-1].rows == (0,), "an idle one is not among them"


@pytest.mark.parametrize("counted", [True, False], ids=["by the agent", "not yet"])
def test_a_file_more_is_compared_for_each_the_node_has_itself(
    union: Union, table: FakeTable, claims: FakeClaims, counted: bool
) -> None:
    """What others do is not known, but the own files are: they never pile up on a few elements."""
    table.put32(table.system_at() + FEW_AT, 1)
    for number in range(6):
        if counted:
            table.count(claims)
            table.put32(table.system_at() + STREAMS_AT, number)
        union.run("touch", f"file{number}")
    assert claims.claimed()[:3] == [2, 2, 2]
    assert [claim.candidate_limit for claim in claims.claims()] == [1, 2, 3, 4, 5, 6]


def test_nothing_to_choose_from_asks_the_agent(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    union.agent.choose = lambda _: 2
    table.exclude(0b111)
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file")
    assert len(union.agent.asks) == 1
    assert union.copies(union.path / "file") == [2]
    assert claims.total() == 0
    assert not any(claims.states())


def test_program_that_never_asks_chooses(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    table.only(1)
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "file", SES_SYNC_MS="0")
    assert union.copies(union.path / "file") == [1]


def test_application_with_an_entry_of_its_own_does_not_get_the_default(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    table.elements()["write_rate"][1] = 3e8
    claims.need(0, (Kind.CURRENT_READ, False, False, 1e6, 1.0), digest=5)
    claims.need(1, application="other", digest=6)
    claims.need(2, (Kind.CURRENT_WRITE, False, False, 2e8, 1.0), application="special", digest=7)
    arguments = (probes / "create", "open", WRITE, "0644", "022")
    for application in ("special", "plain"):
        union.run(*arguments, union.path / application, SES_APPLICATION=application)
    assert [(claim.application, claim.digest) for claim in claims.claims()] == [("special", 7), ("plain", 5)]
    assert claims.claims()[0].rows == (1,)


@pytest.mark.parametrize("flags", [EXCLUSIVE, WRITE])
def test_file_that_exists_is_not_touched(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path, flags: str
) -> None:
    (union.branches[0] / "file").write_text("old")
    table.only(1)
    done = union.run(probes / "create", "open", flags, "0644", "022", union.path / "file")
    assert ("errno=17" in done.stdout) == (flags == EXCLUSIVE)
    assert (union.path / "file").read_text() == "old"
    assert union.copies(union.path / "file") == [0]
    ends = [(claim.outcome, claim.error, claim.fd, claim.rows) for claim in claims.claims()]
    assert ends == [(NOT_CREATED, EEXIST, -1, (1,))] * (flags == EXCLUSIVE)
    assert union.agent.leftovers() == []


def test_waiting_for_a_lock_file_claims_next_to_nothing(union: Union, claims: FakeClaims) -> None:
    """A claim tells that the name is taken; for a second after that the name is looked at first."""
    (union.branches[0] / "lock").write_text("taken")
    script = "import os\nfor _ in range(300):\n    try: os.open('lock', os.O_CREAT | os.O_EXCL)\n"
    script += "    except FileExistsError: pass"
    union.run(*PYTHON, script)
    assert 1 <= claims.total() <= 30


# ------------------------------------------------------------------------------------- the agent's sleep


def futexes(union: Union, table: FakeTable, probes: Path) -> list[str]:
    """The futex calls of a program with one thread that creates three files."""
    trace = union.path.parent / "trace"
    tracer = ("strace", "-qq", "-f", "-o", trace, "-e", "trace=futex,shmget,shmctl,shmat,socket,connect")
    union.run(*tracer, probes / "process", "many", "3", union.path)
    lines = trace.read_text().splitlines()
    names = [match[1] for line in lines if (match := re.match(r"\d+ +(\w+)\(", line))]
    assert names.count("shmat") == 2, "the table and the claims, once each"
    assert not set(names) & {"socket", "connect"}
    return [re.findall(r"FUTEX_\w+", line)[0] for line in lines if " futex(" in line]


def test_sleeping_agent_is_woken_by_each_claim(union: Union, table: FakeTable, probes: Path) -> None:
    table.put32(ASLEEP_AT, 1)
    assert futexes(union, table, probes) == ["FUTEX_WAKE"] * 3


def test_agent_that_is_awake_costs_no_call(union: Union, table: FakeTable, probes: Path) -> None:
    assert futexes(union, table, probes) == []


SLEEPER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
word = libc.shmat(int(sys.argv[1]), None, 0) + 44
class Time(ctypes.Structure): _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
print("asleep", flush=True)
libc.syscall.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
print(libc.syscall(202, word, 0, 1, ctypes.byref(Time(60, 0))))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of futex() is that of x86-64")
def test_waiter_on_the_tables_word_wakes_up(union: Union, table: FakeTable) -> None:
    """Though programs can only read the word."""
    table.put32(ASLEEP_AT, 1)
    sleeper = subprocess.Popen([*PYTHON, SLEEPER, str(table.id)], stdout=subprocess.PIPE, text=True)
    assert sleeper.stdout
    assert sleeper.stdout.readline() == "asleep\n"
    waits = Path(f"/proc/{sleeper.pid}/wchan")
    while "futex" not in waits.read_text():
        assert sleeper.poll() is None
    union.run("touch", "file")
    assert sleeper.communicate(timeout=60)[0] == "0\n"


def test_create_makes_no_system_calls_but_its_own(union: Union, claims: FakeClaims, probes: Path) -> None:
    """Counted where everything is attached and looked at already: the second of two files."""
    trace = union.path.parent / "trace"
    tracer = ("strace", "-qq", "-o", trace)
    union.run(*tracer, probes / "process", "many", "2", union.path)
    lines = trace.read_text().splitlines()
    last = max(i for i, line in enumerate(lines) if 'many-0"' in line)
    until = max(i for i, line in enumerate(lines) if 'many-1"' in line)
    calls = [match[1] for line in lines[last + 1 : until + 1] if (match := re.match(r"(\w+)\(", line))]
    ours = {"gettid", "prctl", "geteuid", "getegid", "rt_sigprocmask"}
    storage = {"statx", "getxattr", "openat", "close", "fstatfs", "linkat", "unlinkat"}
    assert set(calls) <= ours | storage, calls
    assert (calls.count("linkat"), calls.count("fstatfs")) == (1, 1)
    assert len(claims.claims()) == 2


# ------------------------------------------------------------------------------- unusual circumstances


@pytest.mark.parametrize("way", ["fork", "threads", "signal", "jump"])
def test_unusual_circumstances_are_served(union: Union, claims: FakeClaims, probes: Path, way: str) -> None:
    arguments = {"fork": [], "threads": ["50"], "signal": ["14"], "jump": ["60"]}[way]
    listed = []
    for _ in range(10):  # on a busy machine the signal may come before every create
        for left in filter(Path.is_file, union.path.iterdir()):
            left.unlink()
        union.run(probes / "process", way, *arguments, union.path, SES_SYNC_MS="0")
        listed = claims.claims()
        if listed:
            break
    assert len({claim.number for claim in listed}) == len(listed) >= 1
    assert {(claim.outcome, claim.error) for claim in listed} == {(CREATED, 0)}
    assert claims.total() == len(listed)
    assert union.agent.leftovers() == []


def test_lock_on_standard_input_is_kept(union: Union, claims: FakeClaims, tmp_path: Path) -> None:
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
    done = union.run(sys.executable, "-c", script, union.path / "file", tmp_path / "lock")
    assert done.stdout == "1\n", "the child is refused the lock"
    assert [claim.outcome for claim in claims.claims()] == [CREATED]


def test_child_of_fork_claims_under_its_own_number(union: Union, claims: FakeClaims) -> None:
    script = "import os\n"
    script += "def make(name): os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644)); return os.getpid()\n"
    script += "pids = [make('a')]\nread, write = os.pipe()\n"
    script += "if os.fork() == 0: os.write(write, str(make('b')).encode()); os._exit(0)\n"
    script += "os.wait(); print(pids[0], os.read(read, 20).decode(), make('c'))"
    done = union.run(*PYTHON, script)
    assert [str(claim.pid) for claim in claims.claims()] == done.stdout.split()


@pytest.mark.parametrize("way", ["vfork", "seccomp"])
def test_table_is_not_used_where_a_question_would_not_be_asked(
    union: Union, claims: FakeClaims, probes: Path, way: str
) -> None:
    union.run(probes / "process", way, union.path, SES_SYNC_MS="0")
    used = [Path(claim.path).name for claim in claims.claims()]
    assert used == (["vfork-parent-0"] if way == "vfork" else [])
    assert union.agent.connections == 0


def test_set_user_id_program_does_not_choose(union: Union, claims: FakeClaims, tmp_path: Path) -> None:
    """It runs with more rights than who started it, whose segment and environment it must not believe.
    Without its environment it finds no agent of ours either."""
    script = "import os\nos.close(os.open('file', os.O_CREAT | os.O_WRONLY))"
    union.run("setpriv", "--reuid", str(NOBODY), "--clear-groups", "--", *PYTHON, script, check=False)
    assert claims.claims() == []


def test_other_user_claims_in_a_segment_of_their_own(
    union: Union, table: FakeTable, claims: FakeClaims, probes: Path
) -> None:
    directory = union.path / "shared"
    directory.mkdir()
    directory.chmod(0o777)
    theirs = table.user(NOBODY)
    union.agent.stages(2, NOBODY)
    table.only(2)
    user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--")
    union.run(*user, probes / "create", "open", WRITE, "0644", "022", directory / "file")
    assert [claim.rows for claim in theirs.claims()] == [(2,)]
    assert claims.total() == 0
    assert union.copies(directory / "file") == [2]
    assert (directory / "file").stat().st_uid == NOBODY


def test_process_that_becomes_another_user_leaves_the_former_claims_alone(
    union: Union, claims: FakeClaims
) -> None:
    directory = union.path / "shared"
    directory.mkdir()
    directory.chmod(0o777)
    script = "import os\nfor name, user in (('a', 0), ('b', 65534), ('c', 0)):\n"
    script += "    os.seteuid(user); os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644))"
    union.run(*PYTHON, script, cwd=directory, SES_SYNC_MS="0")
    assert [claim.path for claim in claims.claims()] == ["a", "c"]


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
def test_default_acl_that_the_program_sets_holds_at_once(union: Union, claims: FakeClaims, way: str) -> None:
    """Also right after a file was placed there, when the directory has just been looked at."""
    printed = []
    for library in (True, False):
        (directory := union.path / str(library)).mkdir()
        command = (sys.executable, "-c", ACL_BETWEEN_FILES, directory, way)
        printed.append(union.run(*command, library=library).stdout)
    assert printed[0] == printed[1]
    assert "system.posix_acl_access" in printed[0]
    assert [claim.outcome for claim in claims.claims()] == [CREATED]
