"""What programs send along with their reports: the handle that is used, and everything else that is not."""

import contextlib
import os
import socket
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService
from mounts import let_others_in
from patience import wait_until
from ran import ran
from running_agent import Agent

NOBODY = 65534
HERE = Path(__file__).parent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file nobody has open."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 77)
    return path


@pytest.fixture
def keep() -> Iterator[Callable[[Path, int], int]]:
    """Open a path until the test ends."""
    with ExitStack() as closing:

        def opened(path: Path, flags: int = os.O_PATH) -> int:
            fd = os.open(path, flags)
            closing.callback(os.close, fd)
            return fd

        yield opened


def held(agent: Agent) -> list[str]:
    """Files and processes the agent has descriptors of, but for a look at who serves a port."""
    links = []
    for link in Path(f"/proc/{agent.process.pid}/fd").iterdir():
        try:
            links.append(str(link.readlink()))
        except FileNotFoundError:
            continue
    return [link for link in links if (link.startswith("/") and "/net/tcp" not in link) or "pidfd" in link]


def has_no_more_than(agent: Agent, before: list[str]) -> bool:
    """What the agent reads for itself comes and goes; it may have been there before."""
    return not Counter(held(agent)) - Counter(before)


def reported(service: FakeService, placement: str) -> tuple[str | None, int | None]:
    """The path and size that were reported."""
    service.wait_for_end(placement)
    (opened,), (ended,) = service.opened(placement), service.ended(placement)
    return opened["path"], ended["bytes_written"]


def dropped(connection: socket.socket) -> bool:
    """Whether the agent closed the connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def report(agent: Agent, file: Path, *descriptors: int) -> str:
    """Report `file`, which is not open any more, as created; the placement."""
    with agent.ask() as conversation:
        conversation.report(side.CREATED, status=file.stat(), fd=-1, descriptors=descriptors)
        return conversation.answer.placement


def test_file_closed_before_the_agent_looks_is_known_by_its_handle(
    agent: Agent, service: FakeService, file: Path, keep: Callable[..., int]
) -> None:
    before = held(agent)
    placement = report(agent, file, keep(file))
    assert reported(service, placement) == (str(file), 77)
    assert service.ended(placement)[0]["reason"] == "closed"
    wait_until(lambda: has_no_more_than(agent, before), "the handle is closed")


def test_handle_of_an_open_file_waits_for_its_close(
    agent: Agent, service: FakeService, tmp_path: Path, file: Path, keep: Callable[..., int]
) -> None:
    path = tmp_path / "open"
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    handle = os.open(path, os.O_PATH)
    with agent.ask() as conversation:
        conversation.report(side.CREATED, status=os.fstat(fd), fd=fd, descriptors=(handle,))
        placement = conversation.answer.placement
    os.close(handle)
    wait_until(lambda: service.opened(placement), "it is reported")
    service.wait_for_end(report(agent, file, keep(file)))
    assert service.ended(placement) == []
    os.write(fd, b"12345")
    os.close(fd)
    assert reported(service, placement) == (str(path), 5)


@pytest.mark.parametrize("name", ["file", "odd (deleted)"])
@pytest.mark.parametrize("removed", [False, True])
def test_path_is_that_of_the_file_removed_or_not(
    agent: Agent, service: FakeService, tmp_path: Path, keep: Callable[..., int], name: str, removed: bool
) -> None:
    path = tmp_path / name
    path.write_bytes(b"abc")
    handle, status = keep(path), path.stat()
    if removed:
        path.unlink()
    with agent.ask() as conversation:
        conversation.report(side.CREATED, status=status, fd=-1, descriptors=(handle,))
        placement = conversation.answer.placement
    assert reported(service, placement) == (str(path), 3)


TRAPS = [
    "a directory",
    "another file",
    "a device",
    "not only a path",
    "five",
    "two of the file",
    "a socket",
    "hundreds",
]


@pytest.mark.parametrize("what", TRAPS)
def test_descriptor_that_is_not_the_handle_is_closed_and_ignored(
    agent: Agent, service: FakeService, file: Path, tmp_path: Path, keep: Callable[..., int], what: str
) -> None:
    other = tmp_path / "other"
    other.touch()
    before = held(agent)
    with socket.socket() as stray:
        sent = {
            "a directory": [keep(tmp_path)],
            "another file": [keep(other)],
            "a device": [keep(Path("/dev/null"))],
            "not only a path": [keep(other, os.O_RDONLY)],
            "five": [keep(file), keep(other), keep(tmp_path), keep(other, os.O_RDONLY), stray.fileno()],
            "two of the file": [keep(file), keep(file)],
            "a socket": [stray.fileno()],
            "hundreds": [keep(other, os.O_RDONLY)] * 253,
        }
        assert list(sent) == TRAPS
        placement = report(agent, file, *sent[what])
    assert reported(service, placement) == (None, None)
    wait_until(lambda: has_no_more_than(agent, before), "what came is closed")


@pytest.mark.parametrize("good", [True, False])
def test_descriptor_with_a_question_is_closed_and_ignored(
    agent: Agent, file: Path, keep: Callable[..., int], good: bool
) -> None:
    before = held(agent)
    message = side.ask_message(agent.device, "app")
    with side.connect(agent.socket) as connection:
        socket.send_fds(
            connection, [message if good else message[:-1]], [keep(file), keep(file, os.O_RDONLY)]
        )
        assert dropped(connection) != good
        wait_until(lambda: has_no_more_than(agent, before), "what came is closed")


@pytest.mark.root
@pytest.mark.parametrize("mine", [True, False])
def test_handle_of_somebody_elses_file_is_not_believed(
    agent: Agent, service: FakeService, file: Path, mine: bool
) -> None:
    """Who may search a directory can have an O_PATH descriptor of a file they may not read."""
    file.chmod(0o600)
    let_others_in(agent.socket.parent)
    os.chown(file, NOBODY if mine else 0, -1)
    script = (
        "import os, pathlib, sys\n"
        f"sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}\n"
        "import program_side as side\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "fd = os.open(path, os.O_PATH)\n"
        f"os.setgroups([]); os.setuid({NOBODY})\n"
        f"message = side.ask_message({agent.device}, 'program')\n"
        "conversation = side.Conversation(pathlib.Path(sys.argv[2]), message)\n"
        "assert conversation.answer.status == side.PLACE\n"
        "conversation.report(side.CREATED, status=os.fstat(fd), fd=-1, descriptors=(fd,))\n"
        "print(conversation.answer.placement)\n"
    )
    command = [sys.executable, "-c", script, str(file), str(agent.socket)]
    done = ran(command)
    assert reported(service, done.stdout.strip()) == ((str(file), 77) if mine else (None, None))


@contextlib.contextmanager
def lingering(count: int) -> Iterator[list[int]]:
    """Descriptors, the last close of each of which waits until its data are gone: here, an hour."""
    with ExitStack() as closing:
        server = closing.enter_context(socket.create_server(("127.0.0.1", 0), backlog=count))
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        traps = []
        for _ in range(count):
            trap = closing.enter_context(socket.create_connection(server.getsockname()))
            closing.enter_context(server.accept()[0])  # reads nothing
            trap.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
            trap.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            trap.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while trap.send(b"x" * 65536):
                    pass
            traps.append(trap.detach())
        yield traps


@pytest.mark.parametrize(
    ("before", "count"),
    [([], 1), ([b"nonsense"], 1), ([b""], 1), ([], 300)],
    ids=["read", "never read", "behind nothing", "hundreds"],
)
def test_close_that_waits_keeps_nobody_waiting(
    agent: Agent, service: FakeService, file: Path, keep: Callable[..., int], before: list[bytes], count: int
) -> None:
    """Also of what came with messages that the agent never reads."""
    with lingering(count) as traps:
        with ExitStack() as closing:
            with agent.held():  # so that its close is the last one
                for first in range(0, count, 200):
                    connection = closing.enter_context(side.connect(agent.socket))
                    for message in before:
                        connection.send(message)
                    socket.send_fds(connection, [b"nonsense"], traps[first : first + 200])
                for trap in traps:
                    os.close(trap)
            assert dropped(connection)
        placement = report(agent, file, keep(file))
        assert reported(service, placement) == (str(file), 77)


def test_agent_with_few_descriptors_goes_on_serving(
    binary: Path, service: FakeService, tmp_path: Path
) -> None:
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -n 96\nexec {binary} "$@"\n')
    limited.chmod(0o755)
    agent = Agent(limited, tmp_path, service.url, device=tmp_path.stat().st_dev)
    with ExitStack() as closing:
        closing.callback(agent.stop)
        agent.wait_for("service found")
        for number in range(200):
            path = tmp_path / f"f{number}"
            fd, handle = (os.open(path, flags) for flags in (os.O_CREAT | os.O_WRONLY, os.O_PATH))
            closing.callback(os.close, fd)
            with agent.ask() as conversation:
                assert conversation.answer.status == side.PLACE
                conversation.report(side.CREATED, status=path.stat(), fd=fd, descriptors=(handle,))
            os.close(handle)
