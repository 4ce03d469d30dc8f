"""What experiments make of the kernel's is gone after them, also where it could not be made or was busy."""

import errno
import os
import secrets
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from patience import wait_until
from ran import ran
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import started
from ses_experiment import groups, network
from ses_experiment.writers import Programs

root = pytest.mark.skipif(os.geteuid() != 0, reason="groups and namespaces need root")


def test_a_namespace_that_cannot_be_made_is_named_and_not_what_undoes_it():
    with pytest.raises(DemoError, match="netns add"), ExitStack() as undo:
        network.namespace("no/name", undo)


@root
@pytest.mark.root
def test_two_namespaces_reach_each_other_until_they_are_undone():
    names = [f"ses-test-{secrets.token_hex(3)}" for _ in range(2)]
    with ExitStack() as undo:
        for name in names:
            network.namespace(name, undo)
        network.link((names[0], "10.92.7.1"), (names[1], "10.92.7.2"), "wire")
        network.limit(names[0], "wire", 1e8, "256kb")
        asked = "import socket; print(socket.socket().connect_ex(('10.92.7.2', 9)))"
        answer = ran([*network.inside(names[0]), sys.executable, "-c", asked]).stdout
        assert int(answer) == errno.ECONNREFUSED, "the other one answered that nobody listens"
    assert not set(names) & set(ran(["ip", "netns"]).stdout.split())


@root
@pytest.mark.root
@pytest.mark.skipif(not groups.available(("cpu",)), reason="there is no cgroup v1")
def test_a_group_in_which_something_ends_is_removed_when_it_has_ended():
    name = f"ses-test-{secrets.token_hex(3)}"
    with ExitStack() as undo:
        groups.make(name, ("cpu",), undo)
        groups.give_processor(name, 0.5)
        words = [*groups.joined(name, ("cpu",), ("sh", "-c")), "sleep", "600"]
        sleeper = subprocess.Popen(words)
        members = groups.GROUPS / "cpu" / name / "cgroup.procs"
        while str(sleeper.pid) not in members.read_text().split():
            time.sleep(0.01)
        threading.Timer(0.3, sleeper.kill).start()
    sleeper.wait()
    assert not members.parent.exists()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


def test_a_process_that_will_not_end_is_killed_with_its_children(tmp_path: Path):
    child = tmp_path / "child"
    script = f"trap '' TERM; sleep 600 & echo $! >{child}; wait; sleep 600"
    with ExitStack() as undo:
        process = started(["sh", "-c", script], undo, 0.2)
        while not (child.exists() and child.read_text().strip()):
            time.sleep(0.01)
    assert process.returncode == -9
    wait_until(lambda: not runs(int(child.read_text())))


@root
@pytest.mark.root
@pytest.mark.parametrize(
    ("command", "words"), [("echo why >&2; exit 3", "failed: why"), ("true", "has ended")]
)
def test_a_program_that_should_go_on_and_ended_is_noticed(tmp_path: Path, command: str, words: str):
    tmp_path.chmod(0o755)
    with Interrupts() as interrupts, Programs(tmp_path, interrupts) as programs:
        programs.start(["sleep", "600"], 0, {}, Path("/"))
        programs.check()
        programs.start(["sh", "-c", command], 0, {}, Path("/"))
        programs.running[-1].process.wait()
        with pytest.raises(DemoError, match=words):
            programs.check()


def test_a_program_that_does_not_exist_is_a_fault():
    with pytest.raises(DemoError, match="cannot be started"), ExitStack() as undo:
        started(["/nonexistent/program"], undo)
