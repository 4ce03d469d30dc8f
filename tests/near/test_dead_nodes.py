"""Who interrupts a program on a node that died gets the prompt back, and is told what may still run there."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from ses.commands.near.signals import interruptible
from ses.near.execution import watch
from ses.near.execution.connection import Connection
from ses.near.execution.conversation import Conversation, Ended
from ses.near.execution.run import Run
from ses.near.execution.watch import Watch
from sshd import Sshd

SES = Path(sys.executable).parent / "ses"
RATES = ("--disk-rate", "500MB/s", "--link-rate", "1kB/s")
PATIENCE = 60.0


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Node:
    """A node behind a real sshd, on which one program runs.  When it dies it says nothing any more."""

    def __init__(self, sshd: Sshd, folder: Path) -> None:
        # What ssh itself does about silent nodes shall not help.
        self.rsh = " ".join([*sshd.rsh, "-o ServerAliveInterval=3600"])
        self.script = f"echo $$ $PPID >{folder}/pids; echo ready; exec sleep 600"
        self.file = folder / "data"
        self.file.write_bytes(b"line\n" * 5_000_000)
        self._folder = folder
        self._daemon = sshd.process.pid
        self._stopped: list[int] = []

    def die(self) -> int:
        """Stop all from the daemon to the program, which has said that it is ready; returns its number."""
        program, above = map(int, (self._folder / "pids").read_text().split())
        self._stopped = [program]
        while above != self._daemon:
            self._stopped.append(above)
            above = parent(above)
        for pid in reversed(self._stopped):
            os.kill(pid, signal.SIGSTOP)
        return program

    def remove(self) -> None:
        for pid in self._stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def node(sshd: Sshd, tmp_path: Path) -> Iterator[Node]:
    remote = Node(sshd, tmp_path)
    yield remote
    remote.remove()


def start(folder: Path, *argv: str | Path, stdin: int | None = subprocess.DEVNULL) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "TMPDIR": str(folder)}
    return subprocess.Popen(
        [SES, *argv], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def run_near(node: Node, *options: str, **facts: int) -> subprocess.Popen[str]:
    way = ("--on", "endpoint", "--executor", "ssh", "--rsh", node.rsh, *RATES, *options)
    return start(node.file.parent, "run-near", *way, node.file, "--", "sh", "-c", node.script, "{}", **facts)


def ready(running: subprocess.Popen[str]) -> None:
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_waiting_for_a_dead_node_and_says_what_may_still_run(node, number):
    running = run_near(node, "--where", "near", "--no-sample")
    ready(running)
    program = node.die()
    running.send_signal(number)
    _, said = running.communicate(timeout=PATIENCE)
    left = f"sh may still run on endpoint (process {program})."
    assert said == f"run-near: endpoint has not answered for 3 s. {left}\n"
    assert running.returncode == 128 + number


def test_signal_ends_it_where_the_dead_node_takes_no_more_input(node):
    """What is to be sent after the input would wait for ever."""
    reader, writer = os.pipe()

    def fill() -> None:
        with contextlib.suppress(BrokenPipeError):
            while True:
                os.write(writer, bytes(1 << 16))

    threading.Thread(target=fill, daemon=True).start()
    running = run_near(node, "--where", "near", "--no-sample", stdin=reader)
    os.close(reader)
    ready(running)
    program = node.die()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert f"sh may still run on endpoint (process {program})" in said
    assert running.returncode == 130
    os.close(writer)


def test_signal_ends_a_trial_on_a_dead_node(node, capsys):
    program = list[int]()

    def interrupted(_: bytes) -> None:
        program.append(node.die())
        os.kill(os.getpid(), signal.SIGINT)

    trial = Run(("sh", "-c", node.script), "endpoint", "ssh", rsh=tuple(node.rsh.split()))
    with pytest.raises(SystemExit) as ended, interruptible("run-near"), Connection() as connection:
        Conversation(trial, connection).hold(interrupted, print, None)
    said = f"run-near: endpoint has not answered. sh may still run on endpoint (process {program[0]}).\n"
    assert (capsys.readouterr().err, ended.value.code) == (said, 130)


def test_signal_ends_map_near_on_a_dead_node(node):
    way = ("--held", "*=endpoint", "--executor", "ssh", "--rsh", node.rsh, *RATES, "--no-sample")
    running = start(node.file.parent, "map-near", *way, node.file, "--", "sh", "-c", node.script, "{}")
    wait_until(lambda: any(node.file.parent.glob("ses-map-near-*/*")))
    node.die()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert "map-near: endpoint has not answered. sh may still run there.\n" in said
    assert running.returncode == 130


def test_second_interrupt_ends_it_at_once_and_the_program_too_where_its_node_lives(node, tmp_path):
    node.script = f"trap 'echo caught' INT; echo $$ >{tmp_path}/pid; echo ready; while :; do sleep 0.1; done"
    running = run_near(node, "--where", "near", "--no-sample")
    ready(running)
    program = int((tmp_path / "pid").read_text())
    running.send_signal(signal.SIGINT)
    assert running.stdout is not None
    assert running.stdout.readline() == "caught\n", "the first is the program's"
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert said == f"run-near: It was interrupted again. sh may still run on endpoint (process {program}).\n"
    assert running.returncode == 130
    wait_until(lambda: not Path(f"/proc/{program}").exists())


def test_program_that_takes_its_time_after_a_signal_is_waited_for(tmp_path):
    slow = f"until test -e {tmp_path}/go; do sleep 0.1; done; exit 9"
    script = f"trap '{slow}' INT; echo ready; while :; do sleep 0.1; done"
    conversation = Conversation(Run(("sh", "-c", script), "endpoint", "command", rsh=("env",)))
    ready, said = threading.Event(), list[Ended]()
    thread = threading.Thread(
        target=lambda: said.append(conversation.hold(lambda _: ready.set(), print, None))
    )
    thread.start()
    assert ready.wait(PATIENCE)
    conversation.signal(signal.SIGINT)
    thread.join(watch.ANSWER_SECONDS + 1)
    assert thread.is_alive()
    (tmp_path / "go").touch()
    thread.join(PATIENCE)
    assert [outcome.status for outcome in said] == [9]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(watch, "ANSWER_SECONDS", 0.05)
    return 0.5


def test_reader_that_takes_its_time_is_no_dead_node(impatient):
    with Watch(lambda: None) as watcher:
        with watcher.passing_on():
            watcher.asked(signal.SIGINT)
            time.sleep(impatient)
            assert watcher.given_up is None
        wait_until(lambda: watcher.given_up == signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_signal_that_asks_for_no_end_gives_nothing_up(impatient, number):
    with Watch(lambda: None) as watcher:
        watcher.asked(number)
        time.sleep(impatient)
        assert watcher.given_up is None
