"""Programs that load no library have their files placed by a supervisor, and cannot tell.

For ten thousand creates while the supervisor is killed over and over:
SES_SUPERVISED_CREATES=10000 .venv/bin/pytest --timeout 0 tests/run
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fake_agent import CREATED, NOT_MANAGED, UNAVAILABLE, answer
from mergerfs_union import NOBODY, Union
from patience import wait_until
from program_ways import Programs
from ran import ran
from supervisors import MAX_SECONDS, has_stopped, wait_for_all, wait_for_end, wait_until_gone

KILLS = 20
STOPS = 200
CREATES = int(os.environ.get("SES_SUPERVISED_CREATES", "100"))


def supervise(
    ses_run: Path, union: Union, *command: str | Path, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run a program under the supervisor, in the union, and wait until both have ended."""
    done = union.run(ses_run, "--supervise", *command, library=False, **options)  # type: ignore[arg-type]
    wait_for_end(union)
    return done


def held_by(pid: int) -> set[str]:
    """What a process has open; it may still be loading its libraries, and close one meanwhile."""
    seen = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            seen.add(str(link.readlink()))
    return seen


def made(directory: Path, known: int = 0) -> int:
    """How many files loop.c has made, which are at least KNOWN: it makes one after the other."""
    while (directory / f"loop-{known}").exists():
        known += 1
    return known


@pytest.mark.parametrize(
    ("way", "source"),
    [
        ("dynamic", "touch.c"),
        ("static", "touch.c"),
        ("static-pie", "touch.c"),
        ("musl", "touch.c"),
        ("musl-static", "touch.c"),
        ("go", "touch.go"),
        ("rust-static", "touch.rs"),
    ],
)
def test_file_is_where_the_agent_said(
    union: Union, ses_run: Path, programs: Programs, way: str, source: str
) -> None:
    union.agent.choose = lambda _: 2
    done = supervise(ses_run, union, programs.build(way, source), union.path / "file")
    assert done.stderr == ""
    assert union.copies(union.path / "file") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]
    assert union.agent.asks[0].application == programs.build(way, source).name
    assert union.agent.leftovers() == []


def test_agent_learns_whose_the_file_is(union: Union, ses_run: Path) -> None:
    done = supervise(ses_run, union, "sh", "-c", "echo $$; exec busybox touch file")
    (report,) = union.agent.reports
    assert report.fd == -int(done.stdout)
    assert report.handle
    assert report.handle.inode == (union.path / "file").stat().st_ino


def test_files_made_by_mknod_are_placed(union: Union, ses_run: Path) -> None:
    union.agent.choose = lambda number: number % 3
    script = "import os; d = os.open('.', os.O_PATH); os.mknod('a'); os.mknod('b', dir_fd=d); os.mkfifo('c')"
    supervise(ses_run, union, sys.executable, "-c", script)
    assert [union.copies(union.path / name) for name in "ab"] == [[1], [2]]
    assert [(report.outcome, report.fd < 0) for report in union.agent.reports] == [(CREATED, True)] * 2
    assert (union.path / "a").stat().st_nlink == 1
    assert union.agent.leftovers() == []


def test_children_of_a_static_shell_are_supervised(union: Union, ses_run: Path) -> None:
    """And what they run with nothing in their environment."""
    union.agent.choose = lambda number: number % 3
    script = "echo one > 1; cp 1 2; busybox env -i busybox cp 1 3; mkdir d; busybox tar cf d/4 1 2 3"
    supervise(ses_run, union, "/bin/busybox", "sh", "-c", script)
    files = [union.path / name for name in ("1", "2", "3", "d/4")]
    assert [union.copies(file) for file in files] == [[1], [2], [0], [1]]
    assert (union.path / "3").read_text() == "one\n"
    assert [report.outcome for report in union.agent.reports] == [CREATED] * 4


def test_application_is_named_as_for_the_library(union: Union, ses_run: Path) -> None:
    supervise(ses_run, union, "/bin/busybox", "touch", "a")
    supervise(ses_run, union, "--application", "weather", "/bin/busybox", "touch", "b")
    assert [ask.application for ask in union.agent.asks] == ["busybox", "weather"]


@pytest.mark.parametrize("title", ["worker", "perl: worker process", "load [a/b]: " + "idle " * 20, ""])
@pytest.mark.parametrize("argument", ["", "x" * 30])
def test_program_that_calls_itself_otherwise_keeps_its_name(
    union: Union, ses_run: Path, title: str, argument: str
) -> None:
    """As servers do (nginx, PostgreSQL): ps(1) shows what they wrote over their arguments."""
    script = f"BEGIN {{ $0 = '{title}'; open(F, '>', 'made') or die; unlink 'made'; }}"
    command = ["/usr/bin/perl", "-e", script, *([argument] if argument else [])]
    union.run(*command)
    supervise(ses_run, union, *command)
    assert [ask.application for ask in union.agent.asks] == ["perl", "perl"]


def test_program_that_reorders_its_arguments_keeps_its_name(
    union: Union, ses_run: Path, tmp_path: Path
) -> None:
    """As getopt(3) does where options come last; nothing is written over any."""
    (command := tmp_path / "cp").symlink_to("/bin/busybox")
    supervise(ses_run, union, command, "/etc/hostname", "made", "-f")
    assert [ask.application for ask in union.agent.asks] == ["cp"]


def tree(directory: Path) -> list[tuple[str, int, int, int]]:
    """Every name with its mode and owners; mergerfs forgets the set-group-ID bit of directories it copies
    to another branch, for whoever creates a file there."""
    seen = []
    for path in directory.rglob("*"):
        status = path.lstat()
        mode = status.st_mode & ~stat.S_ISGID if path.is_dir() else status.st_mode
        seen.append((str(path.relative_to(directory)), mode, status.st_uid, status.st_gid))
    return sorted(seen)


@pytest.mark.parametrize("way", ["static", "musl-static"])
@pytest.mark.parametrize("user", [0, NOBODY])
def test_program_cannot_tell(union: Union, ses_run: Path, programs: Programs, way: str, user: int) -> None:
    printed, trees = [], []
    as_user = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    for start in ([], [ses_run, "--supervise"]):
        directory = union.path / f"{len(printed)}"
        directory.mkdir()
        directory.chmod(0o777)
        command = [*as_user, *start, programs.build(way, "calls.c"), directory]
        printed.append(union.run(*command, library=False).stdout)
        trees.append(tree(directory))
    wait_for_end(union)
    assert printed[1].splitlines() == printed[0].splitlines()
    assert trees[1] == trees[0]
    assert len(printed[0].splitlines()) > 750
    created = [report for report in union.agent.reports if report.outcome == CREATED]
    assert len(created) > 100, "next to nothing was placed"
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("trouble", ["none", "hung", "unavailable", "not-managed", "garbage"])
def test_service_gone_bad_harms_nobody(union: Union, ses_run: Path, programs: Programs, trouble: str) -> None:
    union.agent.reply = {
        "none": lambda *_: b"",
        "hung": lambda *_: None,
        "unavailable": lambda _, number: answer(placement_id=number, status=UNAVAILABLE),
        "not-managed": lambda *_: answer(placement_id=0, status=NOT_MANAGED),
        "garbage": lambda *_: b"x" * 100,
    }[trouble]
    program = programs.build("static", "loop.c")
    command = [ses_run, "--supervise", program, union.path, "50"]
    done = subprocess.run(
        command,
        env=union.environment(library=False, SES_SYNC_MS="2"),
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len([path for path in union.path.iterdir() if path.name.startswith("loop-")]) == 50


ONE, OTHER, STANDBY = "worker", "watchdog", "standby"


@pytest.mark.parametrize(
    "order",
    [
        [[ONE]],
        [[OTHER]],
        [[STANDBY]],
        [[ONE], [OTHER], [STANDBY]],
        [[OTHER], [ONE]],
        [[ONE, OTHER]],
        [[OTHER, ONE], [STANDBY, OTHER], [ONE, STANDBY]],
    ],
    ids=lambda order: "-".join("+".join(together) for together in order),
)
def test_killing_the_supervisor_fails_no_create(
    union: Union, ses_run: Path, programs: Programs, order: list[list[str]]
) -> None:
    """As often as all of them are there, while a program creates one file after the other; those that are
    joined by a plus at the same moment."""
    command = [ses_run, "--supervise", programs.build("static", "loop.c"), union.path, "-1"]

    def files() -> int:
        return sum(path.name.startswith("loop-") for path in union.path.iterdir())

    killed = 0
    with subprocess.Popen(
        [str(part) for part in command],
        env=union.environment(library=False),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None and (killed < KILLS or files() < CREATES):
            there = wait_for_all(union, spare=1)  # who is killed as it starts a standby leaves one
            victims = [pid for role in order[killed % len(order)] for pid in there[role]]
            for victim in victims:
                with suppress(ProcessLookupError):  # a standby to spare ends by itself
                    os.kill(victim, signal.SIGKILL)
            killed += 1
            for victim in victims:
                wait_until_gone(victim)
        out, err = process.communicate("end\n", timeout=MAX_SECONDS)
    wait_for_end(union)
    assert (process.returncode, err) == (0, ""), (killed, out)
    assert killed >= KILLS
    assert files() == int(out) >= CREATES
    assert any(report.outcome == CREATED for report in union.agent.reports)


DIES_AT_START = """#!{python} -I
import os, socket
control = socket.socket(fileno=3)
try:
    os.close(os.open({dead!r}, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    os.execl({real!r}, "ses-supervisor", "start")
if {moment!r} == "before":
    os.kill(os.getpid(), 9)
control.send(b"x")
control.recv(1)
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("moment", ["before", "under"])
def test_program_runs_although_the_supervisor_is_killed_at_its_start(
    union: Union, ses_run: Path, tmp_path: Path, moment: str
) -> None:
    """Before the program is under it, or when it just is: then the one in reserve takes its place."""
    place = tmp_path / "run"
    place.mkdir()
    shutil.copy(ses_run, place)
    real = ses_run.with_name("ses-supervisor")
    script = place / "ses-supervisor"
    text = DIES_AT_START.format(
        python=sys.executable, dead=str(tmp_path / "dead"), moment=moment, real=str(real)
    )
    script.write_text(text)
    script.chmod(0o755)
    done = supervise(place / "ses-run", union, "/bin/busybox", "touch", union.path / "file")
    assert (tmp_path / "dead").exists(), "nobody was killed"
    assert done.returncode == 0
    assert (union.path / "file").exists()
    if moment == "under":
        assert done.stderr == ""
        assert [report.outcome for report in union.agent.reports] == [CREATED]
    else:
        assert "files go where the file system puts them" in done.stderr


def created_while_the_worker_is_stopped(
    count: int, union: Union, ses_run: Path, programs: Programs, **more: str
) -> tuple[int, str]:
    """Have a program create files; its exit status, and what it said."""
    command = [ses_run, "--supervise", "sh", "-c", f'read x; exec "$0" "$1" {count}']
    with subprocess.Popen(
        [*map(str, command), str(programs.build("static", "loop.c")), str(union.path)],
        env=union.environment(library=False, SES_SYNC_MS="2", **more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        worker = wait_for_all(union)["worker"][0]
        os.kill(worker, signal.SIGSTOP)
        # Before it has begun a file: that one is its own.
        wait_until(lambda: has_stopped(worker), "the worker does not stop")
        try:
            out, _ = process.communicate("go\n", timeout=MAX_SECONDS)
        finally:
            os.kill(worker, signal.SIGCONT)
    wait_for_end(union)
    return process.returncode, out


def test_the_log_tells_what_the_watchdog_let_go_on(
    union: Union, ses_run: Path, programs: Programs, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    created_while_the_worker_is_stopped(5, union, ses_run, programs, SES_LOG=str(log))
    lines = [line for line in log.read_text().splitlines() if "the supervisor did not come to it" in line]
    names = {Path(line.split("] ", 1)[1].split(": plain")[0]).name for line in lines}
    made = {path.name for path in union.path.iterdir() if path.name.startswith("loop-")}
    assert len(made) == 5
    assert names == made


def test_stopped_worker_holds_nobody_up(union: Union, ses_run: Path, programs: Programs) -> None:
    assert created_while_the_worker_is_stopped(20, union, ses_run, programs) == (0, "20\n")


def test_worker_stopped_at_any_moment_holds_nobody_up(
    union: Union, ses_run: Path, programs: Programs, tmp_path: Path
) -> None:
    """In a directory that is not managed, so that it never stops with a file half made."""
    away = tmp_path / "away"
    away.mkdir()

    command = [ses_run, "--supervise", programs.build("static", "loop.c"), away, "-1"]
    with subprocess.Popen(
        [str(part) for part in command],
        env=union.environment(library=False, SES_SYNC_MS="2"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        worker = wait_for_all(union)["worker"][0]
        there = 0
        try:
            for _ in range(STOPS):
                os.kill(worker, signal.SIGSTOP)
                time.sleep(0.005)
                there = made(away, there)
                more = away / f"loop-{there + 5}"
                wait_until(more.exists, "the program creates no more")
                os.kill(worker, signal.SIGCONT)
                time.sleep(0.003)
        finally:
            os.kill(worker, signal.SIGCONT)
            out, _ = process.communicate("end\n", timeout=MAX_SECONDS)
    assert (process.returncode, int(out)) == (0, len(list(away.iterdir())))
    wait_for_end(union)


def test_reader_of_the_output_sees_its_end(union: Union, ses_run: Path) -> None:
    """The supervisor holds nothing of the program's: no pipe, no directory, no terminal."""
    script = 'echo $$; read x < go; exec "$@"'
    os.mkfifo(union.path.parent / "go")
    with subprocess.Popen(
        [ses_run, "--supervise", "sh", "-c", f"cd {union.path.parent}; {script}", "sh", "true"],
        env=union.environment(library=False),
        stdout=subprocess.PIPE,
        cwd=union.path,
        text=True,
    ) as process:
        assert process.stdout
        assert int(process.stdout.readline()) == process.pid
        pipes = {name for name in held_by(process.pid) if name.startswith("pipe:")}
        assert pipes, "its output is none"
        for (pid,) in wait_for_all(union).values():
            opened = held_by(pid)
            assert not opened & pipes, opened
            assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
            assert os.getsid(pid) != os.getsid(process.pid)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        assert children == "", "the program has children it did not start"
        (union.path.parent / "go").write_text("\n")
        assert process.stdout.read() == ""
    assert process.returncode == 0
    wait_for_end(union)


def test_second_supervisor_is_one_too_many_and_says_so(union: Union, ses_run: Path) -> None:
    done = supervise(ses_run, union, ses_run, "--supervise", "/bin/busybox", "touch", union.path / "x")
    assert "somebody supervises this process already" in done.stderr
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def test_supervisor_that_may_not_look_is_not_started(union: Union, ses_run: Path) -> None:
    """The kernel lets nobody look at a process with more rights; yama's ptrace_scope forbids more."""
    union.path.chmod(0o777)
    as_user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # /tmp may be mounted nosuid
        Path(directory).chmod(0o755)
        for name in ("ses-run", "ses-supervisor"):
            shutil.copy(ses_run.with_name(name), directory)
        able = Path(directory) / "ses-run"
        subprocess.run(["setcap", "cap_net_raw+ep", able], check=True, timeout=60)
        done = union.run(*as_user, able, "--supervise", "/bin/busybox", "touch", "x", library=False)
    assert "may not read the memory" in done.stderr
    assert (union.path / "x").exists()
    assert union.agent.asks == []


def test_exit_status_is_that_of_the_program(union: Union, ses_run: Path) -> None:
    for status in (0, 3):
        assert supervise(ses_run, union, "sh", "-c", f"exit {status}", check=False).returncode == status
    done = supervise(ses_run, union, "sh", "-c", "kill -KILL $$", check=False)
    assert done.returncode == -9


def test_process_that_confines_itself_is_left_to_its_rules(
    union: Union, ses_run: Path, programs: Programs
) -> None:
    """Nobody sees from outside what a Landlock domain forbids."""
    printed = []
    for start in ([], [ses_run, "--supervise"]):
        directory = union.path / f"{len(printed)}"
        directory.mkdir()
        done = union.run(*start, programs.build("static", "confined.c"), directory, library=False)
        printed.append(done.stdout)
    wait_for_end(union)
    assert printed[1] == printed[0]
    assert "no landlock" in printed[0] or "inside: -13" in printed[0]


def test_check_counts_the_supervisor(ses_run: Path, programs: Programs) -> None:
    program = programs.build("static", "touch.c")
    assert subprocess.run([ses_run, "--check", program], check=False, capture_output=True).returncode == 1
    command = [ses_run, "--supervise", "--check", program]
    done = ran(command, code=None)
    assert (done.returncode, done.stdout) == (0, f"{program}: {done.stdout.split(': ', 1)[1]}")
    assert "the supervisor places its files" in done.stdout
