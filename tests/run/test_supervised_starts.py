"""Programs that are started in unusual surroundings are supervised as others are."""

import os
import platform
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fake_agent import CREATED
from mergerfs_union import Union
from patience import wait_until
from supervisors import by_role, wait_for_all, wait_for_end

RETRY_SECONDS = 0.05  # between two starts of a peer


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_program_without_standard_descriptors_is_supervised(union: Union, ses_run: Path, closed: str) -> None:
    """As some daemons start theirs."""
    union.agent.choose = lambda _: 2
    script = "echo /proc/self/fd/[012] > file"
    start = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    done = union.run(*start, ses_run, "--supervise", "/bin/bash", "-c", script, library=False)
    wait_for_end(union)
    assert done.stderr == ""
    assert union.copies(union.path / "file") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]
    plain = union.run(*start, "/bin/bash", "-c", script.replace("file", "plain"), library=False)
    assert (union.path / "file").read_text() == (union.path / "plain").read_text()
    assert plain.stderr == ""


def test_program_with_many_arguments_has_its_name(union: Union, ses_run: Path) -> None:
    """Of all files of a directory, say."""
    many = ["x" * 100] * 500
    union.run(ses_run, "--supervise", "/bin/busybox", "sh", "-c", "echo > file", *many, library=False)
    wait_for_end(union)
    assert [ask.application for ask in union.agent.asks] == ["busybox"]


WAITS_FOR_ALL = "if (!fork) { exit } 1 while wait != -1; open(F, '>', 'file'); print 'ended'"


@pytest.mark.root
def test_first_process_of_a_container_waits_for_its_own_children_only(union: Union, ses_run: Path) -> None:
    """Orphans are its children, and so would be the supervisor, which ends after it: it runs without."""
    start = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = union.run(*start, ses_run, "--supervise", "/usr/bin/perl", "-e", WAITS_FOR_ALL, library=False)
    assert done.stdout == "ended"
    assert "below an init" in done.stderr
    assert union.agent.reports == []


def test_process_that_adopts_orphans_waits_for_its_own_children_only(union: Union, ses_run: Path) -> None:
    adopt = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1); os.execv(sys.argv[1], sys.argv[1:])"
    start = [sys.executable, "-I", "-c", adopt, ses_run, "--supervise"]
    asks = "my $f = pack('L', 0); syscall(%d, 37, $f); print unpack('L', $f);"
    number = 157 if platform.machine() == "x86_64" else 167
    done = union.run(*start, "/usr/bin/perl", "-e", asks % number + WAITS_FOR_ALL, library=False)
    wait_for_end(union)
    assert (done.stdout, done.stderr) == ("1ended", "")
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def test_worker_that_may_not_have_all_its_threads_does_without(union: Union, ses_run: Path) -> None:
    """As of a job with large stacks, which its threads have too, and a limit of its memory."""
    limits = ["prlimit", "--as=4000000000", "--stack=1000000000"]
    with subprocess.Popen(
        [*limits, ses_run, "--supervise", "/bin/busybox", "sh", "-c", "read x; echo > file"],
        env=union.environment(library=False), cwd=union.path, stdin=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        worker = wait_for_all(union)["worker"]
        time.sleep(4 * RETRY_SECONDS)
        assert wait_for_all(union)["worker"] == worker, "it is started over and over"
        process.communicate("go\n", timeout=60)
    wait_for_end(union)
    assert process.returncode == 0
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def test_peers_that_die_at_once_are_started_now_and_then(union: Union, ses_run: Path) -> None:
    """Else they would take all of a processor, for as long as the program runs."""
    with subprocess.Popen(
        [ses_run, "--supervise", "/bin/busybox", "sh", "-c", "read x; echo > file"],
        env=union.environment(library=False), cwd=union.path, stdin=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for_all(union)
        began = time.monotonic()
        killed: set[int] = set()
        while (passed := time.monotonic() - began) < 10 * RETRY_SECONDS:
            for pid in by_role(union).get("worker", []):
                killed.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: set(by_role(union).get("worker", [])) - killed, "no worker is started")
        process.communicate("go\n", timeout=60)
    wait_for_end(union)
    assert process.returncode == 0
    assert 1 < len(killed) <= passed / RETRY_SECONDS + 2
    assert [report.outcome for report in union.agent.reports] == [CREATED]
