"""When a placed file counts as open, and how its end is reported."""

import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import program_side as side
import pytest
from claims_program import counted
from fake_service import FakeService
from patience import PATIENCE, wait_until
from running_agent import Agent, record_job

HERE = Path(__file__).parent


@contextmanager
def program(agent: Agent, path: Path, then: str, first: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process of its own that creates `path`, says its placement, and does `then` (Python; `fd` is the
    file, `wait()` waits for the test's next line); `first` is done before the create."""
    script = (
        "import os, pathlib, signal, sys, time\n"
        f"sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}\n"
        "import program_side as side\n"
        f"path = pathlib.Path({str(path)!r})\n"
        f"message = side.ask_message(path.parent.stat().st_dev, 'program')\n"
        f"conversation = side.Conversation(pathlib.Path({str(agent.socket)!r}), message)\n"
        f"{first}"
        "fd = conversation.create(path)\n"
        "def wait():\n    assert sys.stdin.readline()\n"
        "print(conversation.answer.placement, flush=True)\n"
        f"{then}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def placement_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    placement = process.stdout.readline().strip()
    assert len(placement) == 16
    return placement


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def nothing_more_happens(agent: Agent, service: FakeService) -> None:
    """Wait until the agent has sent all it had to say before now: a later file's end has arrived."""
    conversation = agent.ask("later")
    path = conversation.answer.stage_in_union.parents[1] / f"later-{conversation.answer.placement}"
    os.close(conversation.create(path))
    path.unlink()
    service.wait_for_end(conversation.answer.placement)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


class Created(NamedTuple):
    """A file of this process that was reported."""

    placement: str
    fd: int
    path: Path


@pytest.fixture
def created(agent: Agent, service: FakeService, directory: Path) -> Created:
    conversation = agent.ask()
    placement, path = conversation.answer.placement, directory / "file"
    fd = conversation.create(path)
    wait_until(lambda: service.opened(placement), "it is reported")
    return Created(placement, fd, path)


def test_created_file_is_reported_with_path_inode_and_process(service: FakeService, created: Created) -> None:
    status = os.fstat(created.fd)
    (reported,) = service.opened(created.placement)
    assert abs(reported.pop("opened_at") - time.time()) < PATIENCE
    assert reported == {
        "placement_id": created.placement,
        "user": pwd.getpwuid(os.getuid()).pw_name,
        "path": str(created.path),
        "device": status.st_dev,
        "inode": str(status.st_ino),
        "pid": os.getpid(),
        "application": "app",
        "job": None,
    }
    assert service.ended(created.placement) == []
    os.close(created.fd)


@pytest.mark.parametrize("renamed", [False, True])
def test_close_ends_the_placement_with_the_size_also_of_a_file_that_was_renamed(
    service: FakeService, created: Created, renamed: bool
) -> None:
    os.write(created.fd, b"x" * 12345)
    if renamed:
        created.path.rename(created.path.with_name("whole"))
    os.close(created.fd)
    service.wait_for_end(created.placement)
    assert service.ended(created.placement) == [{"reason": "closed", "bytes_written": 12345}]


def test_file_made_for_another_process_is_that_process_s(
    agent: Agent, service: FakeService, directory: Path
) -> None:
    """As a supervisor makes them; its own close ends nothing."""
    conversation = agent.ask()
    placement = conversation.answer.placement
    fd = os.open(directory / "file", os.O_CREAT | os.O_WRONLY, 0o600)
    handle = os.open(directory / "file", os.O_PATH)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[fd]) as holder:
        conversation.report(side.CREATED, status=os.fstat(fd), fd=-holder.pid, descriptors=(handle,))
        conversation.close()
        os.close(handle)
        os.close(fd)
        wait_until(lambda: service.opened(placement), "it is reported")
        assert service.opened(placement)[0]["pid"] == holder.pid
        nothing_more_happens(agent, service)
        assert service.ended(placement) == []
    service.wait_for_end(placement)
    assert service.ended(placement) == [{"reason": "exited", "bytes_written": 0}]


@pytest.mark.parametrize("again", ["duplicated", "opened"])
def test_placement_is_open_as_long_as_any_descriptor_of_its_file(
    agent: Agent, service: FakeService, created: Created, again: str
) -> None:
    other = os.dup(created.fd) if again == "duplicated" else os.open(created.path, os.O_WRONLY)
    os.close(created.fd)
    nothing_more_happens(agent, service)
    assert service.ended(created.placement) == []
    os.write(other, b"12345")
    os.close(other)
    service.wait_for_end(created.placement)
    assert service.ended(created.placement) == [{"reason": "closed", "bytes_written": 5}]


def test_redirection_is_followed_to_its_other_descriptor(
    agent: Agent, service: FakeService, directory: Path
) -> None:
    conversation = agent.ask()
    stage = conversation.answer.stage / "file"
    path = directory / "file"
    os.close(os.open(stage, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    (conversation.answer.stage_in_union / stage.name).rename(path)
    fd = os.open(path, os.O_WRONLY)
    moved = os.dup(fd)  # what a shell does for `> file`: the descriptor reported is gone at once
    os.close(fd)
    conversation.report(side.CREATED, status=os.fstat(moved), fd=fd)
    conversation.close()
    placement = conversation.answer.placement
    wait_until(lambda: service.opened(placement), "it is reported")
    assert service.opened(placement)[0]["path"] == str(path)
    os.write(moved, b"abc")
    os.close(moved)
    service.wait_for_end(placement)
    assert service.ended(placement) == [{"reason": "closed", "bytes_written": 3}]


def test_file_closed_before_the_agent_looks_is_ended(
    agent: Agent, service: FakeService, directory: Path
) -> None:
    with agent.ask() as conversation:
        path = directory / "file"
        path.touch()
        conversation.report(side.CREATED, status=path.stat(), fd=-1)
        placement = conversation.answer.placement
    service.wait_for_end(placement)
    assert service.ended(placement)[0]["reason"] == "closed"


LEFT_TO_A_CHILD = """wait()
if os.fork() == 0:
    wait(); os.write(fd, b"child"); os.close(fd); wait()
"""
LEAVES = {
    "closed": "os.close(fd)\nprint('closed', flush=True)\nsignal.pause()",
    "exited": "else:\n    print('exited', flush=True); os._exit(0)",
}


@pytest.mark.parametrize(("parent", "readers"), [("closed", 0), ("exited", 0), ("closed", 3)])
def test_child_keeps_the_placement_open_after_its_parent_has_left_it(
    agent: Agent, service: FakeService, directory: Path, parent: str, readers: int
) -> None:
    """Nor does a reader end it: whoever closes the file makes the kernel tell of a close."""
    with program(agent, directory / "file", LEFT_TO_A_CHILD + LEAVES[parent]) as process:
        placement = placement_of(process)
        wait_until(lambda: service.opened(placement), "it is reported")
        go_on(process)
        assert process.stdout is not None
        assert process.stdout.readline() == f"{parent}\n"
        if parent == "exited":
            process.wait(PATIENCE)
        nothing_more_happens(agent, service)
        for _ in range(readers):
            (directory / "file").read_bytes()
            nothing_more_happens(agent, service)
        assert service.ended(placement) == []
        go_on(process)
        service.wait_for_end(placement)
        assert service.ended(placement) == [{"reason": "closed", "bytes_written": 5}]


@pytest.mark.parametrize(
    ("named", "job"), [("4711", "4711"), ("4712", None), ("4713", None), ("4711 or\nmore", None)]
)
def test_job_that_a_program_was_started_with_counts_if_it_is_its_users(
    agent: Agent,
    service: FakeService,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    named: str,
    job: str | None,
) -> None:
    record_job(agent.jobs, 4711, os.getuid())
    record_job(agent.jobs, 4712, os.getuid() + 1)
    monkeypatch.setenv("SLURM_JOB_ID", named)
    with program(agent, directory / "file", "wait()") as process:
        placement = placement_of(process)
        wait_until(lambda: service.opened(placement), "it is reported")
        assert service.opened(placement)[0]["job"] == job


def test_file_of_a_program_that_ends_before_the_agent_looks_counts_for_no_job(
    agent: Agent, service: FakeService, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_job(agent.jobs, 4711, os.getuid())
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    first = "print(conversation.answer.placement, flush=True)\nsys.stdin.readline()\n"
    with program(agent, directory / "file", "", first=first) as process:
        placement = placement_of(process)
        with agent.held():
            process.communicate("\n")
        wait_until(lambda: service.opened(placement), "it is reported")
        assert service.opened(placement)[0]["job"] is None


def test_killed_process_ends_all_its_placements(agent: Agent, service: FakeService, directory: Path) -> None:
    then = "os.write(fd, b'half')\nprint('written', flush=True)\nsignal.pause()"
    with program(agent, directory / "file", then) as process:
        placement = placement_of(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        wait_until(lambda: service.opened(placement), "it is reported")
        process.send_signal(signal.SIGKILL)
        service.wait_for_end(placement)
    assert service.ended(placement) == [{"reason": "exited", "bytes_written": 4}]


def test_hundred_files_of_one_process_are_told_apart(
    agent: Agent, service: FakeService, directory: Path
) -> None:
    open_now = {}
    for number in range(100):
        conversation = agent.ask()
        open_now[conversation.answer.placement] = conversation.create(directory / f"f{number}")
        os.write(open_now[conversation.answer.placement], b"x" * number)
    assert len(open_now) == 100
    wait_until(lambda: all(service.opened(placement) for placement in open_now), "all are reported")
    kept = list(open_now)[::2]
    for number, (placement, fd) in enumerate(open_now.items()):
        if placement not in kept:
            os.close(fd)
            service.wait_for_end(placement)
            assert service.ended(placement) == [{"reason": "closed", "bytes_written": number}]
    assert not [placement for placement in kept if service.ended(placement)]
    for placement in kept:
        os.close(open_now[placement])
    wait_until(lambda: all(service.ended(placement) for placement in kept), "the rest is reported")


def test_report_about_another_device_does_not_count(agent: Agent, service: FakeService) -> None:
    with agent.ask() as conversation, Path("/proc/self/comm").open() as elsewhere:
        wait_until(lambda: counted(agent.socket) == 1, "it counts")
        conversation.report(side.CREATED, status=os.fstat(elsewhere.fileno()), fd=elsewhere.fileno())
        placement = conversation.answer.placement
    wait_until(lambda: counted(agent.socket) == 0, "it does not count")
    assert service.opened(placement) == []


@contextmanager
def without_room_in_inotify(binary: Path, tmp_path: Path, service: FakeService, path: Path,
                            then: str) -> Iterator[subprocess.Popen[str]]:  # fmt: skip
    """A process with an agent of its own, which watches nothing: it creates `path` and does `then`, as above.

    In a user namespace, where the limit is 0 until `then` sets another one with `room()`.
    """
    script = (
        "import os, pathlib, sys\n"
        f"sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}\n"
        "from running_agent import Agent\n"
        "def room(most):\n"
        "    pathlib.Path('/proc/sys/user/max_inotify_watches').write_text(str(most))\n"
        "def wait():\n    assert sys.stdin.readline()\n"
        "room(0)\n"
        f"agent = Agent(pathlib.Path({str(binary)!r}), pathlib.Path({str(tmp_path)!r}), {service.url!r})\n"
        "try:\n"
        "    agent.wait_for('service found')\n"
        f"    path = pathlib.Path({str(path)!r})\n"
        "    conversation = agent.ask(device=path.parent.stat().st_dev)\n"
        "    fd = conversation.create(path)\n"
        "    agent.wait_for('inotify has no room')\n"
        "    print(conversation.answer.placement, flush=True)\n"
        f"    {then}\n"
        "    os.close(fd)\n"
        "    agent.wait_for(f'placement {conversation.answer.placement} of uid 0 ended: closed')\n"
        "finally:\n"
        "    assert agent.stop() == 0\n"
    )
    apart = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*apart, "true"], check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    command = [*apart, sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            yield process
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.terminate()
    assert process.returncode == 0, errors


def test_without_room_in_inotify_files_are_looked_at_instead(
    binary: Path, service: FakeService, directory: Path, tmp_path: Path
) -> None:
    path = directory / "file"
    with without_room_in_inotify(binary, tmp_path, service, path, "os.write(fd, b'1234567')") as process:
        placement = placement_of(process)
    assert service.ended(placement) == [{"reason": "closed", "bytes_written": 7}]


def test_with_room_in_inotify_again_files_are_followed_as_others(
    binary: Path, service: FakeService, directory: Path, tmp_path: Path
) -> None:
    then = "room(1000); os.truncate(path, 64 << 20); wait()"
    with without_room_in_inotify(binary, tmp_path, service, directory / "file", then) as process:
        placement = placement_of(process)
        wait_until(lambda: service.bytes_of(placement) == 64 << 20, "the service hears of the size")
        wait_until(lambda: service.is_idle(placement), "the service hears that it is idle")
        go_on(process)
    assert service.ended(placement) == [{"reason": "closed", "bytes_written": 64 << 20}]


@pytest.mark.root
def test_file_seen_through_a_mergerfs_union_is_followed_to_its_end(
    agent: Agent, service: FakeService, union: Path, branches: dict[str, Path]
) -> None:
    conversation = agent.ask()
    answer = conversation.answer
    fd = conversation.create(union / "file")
    os.write(fd, b"x" * 4321)
    wait_until(lambda: service.opened(answer.placement), "it is reported")
    assert service.opened(answer.placement)[0]["path"] == str(union / "file")
    os.close(fd)
    service.wait_for_end(answer.placement)
    assert service.ended(answer.placement) == [{"reason": "closed", "bytes_written": 4321}]
    assert (branches[answer.element] / "file").stat().st_size == 4321


def test_file_that_is_gone_is_no_sign_that_inotify_has_no_room(
    agent: Agent, service: FakeService, tmp_path: Path, branches: dict[str, Path]
) -> None:
    """Said falsely once, it would hide the true one later."""
    conversation = agent.ask()
    answer = conversation.answer
    (answer.stage / "name").touch()
    os.link(answer.stage_in_union / "name", tmp_path / "file")
    (answer.stage / "name").unlink()
    fd = os.open(tmp_path / "file", os.O_RDWR)
    status = os.fstat(fd)
    (branches[answer.element] / "file").unlink()
    time.sleep(1.1)  # the union believes for a second that it is there
    conversation.report(side.CREATED, status=status, fd=fd)
    conversation.close()
    wait_until(lambda: service.opened(answer.placement), "it is reported")
    assert not agent.says("inotify has no room")
    os.close(fd)
