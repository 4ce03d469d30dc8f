"""What hangs, or is not what it was, costs a bounded part of the looks at it, and nothing of others."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest
from agent_sources import link
from fake_service import FakeService
from mounts import served, small_disk, stopped
from patience import wait_until
from ran import ran
from running_agent import Agent

pytestmark = pytest.mark.root

NOBODY = 65534
PYTHON = ("/usr/bin/python3", "-I", "-c")
START_AS = """
import ctypes, os, struct, sys
pid, uid = map(int, sys.argv[1:3])
number = (ctypes.c_int * 1)(pid)
arguments = struct.pack("11Q", 0x8000, *[0] * 7, ctypes.addressof(number), 1, 0)  # CLONE_PARENT
made = ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(arguments), len(arguments))
if made == 0:
    os.setresuid(uid, uid, uid)
    os.execv(sys.argv[3], sys.argv[3:])
sys.exit(made != pid)
"""
READ = "file = open(0, 'rb', 0)\nwhile file.read(4096) or file.seek(0) == 0: pass"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(tmp_path_factory.mktemp("looks") / "looks", Path(__file__).parent / "probes/looks.cpp")


def start_as(pid: int, uid: int, *command: str, stdin: IO[bytes] | int) -> None:
    """Start a program of a user, as a child, under a number that nobody has."""
    arguments = [*PYTHON, START_AS, str(pid), str(uid), *command]
    subprocess.run(arguments, stdin=stdin, check=True, timeout=60)


def end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_calls_hang_side_by_side_and_bar_no_more_than_their_users(probe: Path) -> None:
    done = ran([probe, "limits"])
    assert [line for line in done.stdout.splitlines() if line[0] != "["] == [  # but the log
        "together 20; of root 0 1; of a user 0, of another 1, of none 1",
        "of many: of one of them 0, of who has one 0, of another 1, of none 1",
    ]


@pytest.mark.long
def test_the_watch_of_a_staging_directory_that_hangs_is_not_waited_for(probe: Path, base: Path) -> None:
    command = [probe, "stage", base / "union"]
    with (
        served(base / "union", base / "branch") as serving,
        subprocess.Popen(command, stdout=subprocess.PIPE) as watching,
    ):
        assert watching.stdout
        assert watching.stdout.readline() == b"watched\n"
        with stopped(serving):
            watching.communicate(timeout=600)
    assert watching.returncode == 0


@pytest.mark.long
def test_what_a_process_reads_does_not_count_for_who_had_its_number(probe: Path, base: Path) -> None:
    with small_disk(base / "disk", 4) as disk:
        (disk / "file").write_bytes(bytes(1 << 20))
        with (disk / "file").open("rb") as first, (disk / "file").open("rb") as second:
            reader = subprocess.Popen([*PYTHON, READ], stdin=first)
            looking = subprocess.Popen([probe, "readers", disk], stdout=subprocess.PIPE, text=True)
            try:
                assert looking.stdout
                assert looking.stdout.readline() == "root\n"
                with stopped(looking):
                    reader.kill()
                    reader.wait()
                    start_as(reader.pid, NOBODY, *PYTHON, READ, stdin=second)
                while (user := looking.stdout.readline()) != "nobody\n":
                    assert user
            finally:
                looking.kill()
                looking.communicate()
                end(reader.pid)


def test_a_process_with_the_number_of_another_has_none_of_its_files(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    """The first one is stopped before, which ends and hides nothing that is open."""
    script = (
        "import os, pathlib, signal, sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "import program_side as side\n"
        "socket, message = pathlib.Path(sys.argv[1]), side.ask_message(int(sys.argv[2]), 'x')\n"
        "conversation = side.Conversation(socket, message)\n"
        "conversation.create(pathlib.Path(sys.argv[3]))\n"
        "print(conversation.answer.placement, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    command = [sys.executable, "-c", script, agent.socket, str(agent.device), tmp_path / "file"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout
        placement = first.stdout.readline().strip()
        os.waitpid(first.pid, os.WUNTRACED)
        wait_until(lambda: service.opened(placement), "the file is known")
        beside = agent.ask()
        os.close(beside.create(tmp_path / "beside"))
        service.wait_for_end(beside.answer.placement)
        assert service.ended(placement) == [], "it is open"
        with agent.held():
            first.kill()
            first.wait()
            start_as(first.pid, 0, "/bin/sleep", "600", stdin=subprocess.DEVNULL)
        try:
            service.wait_for_end(placement)
        finally:
            end(first.pid)
