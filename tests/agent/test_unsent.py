"""What ended while no service answered, or was not stored, is reported by the next agent of the node."""

import os
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent, Start


@pytest.fixture
def state(base: Path) -> Path:
    return base / "state"


@pytest.fixture
def begin(start: Start, state: Path) -> Start:
    return partial(start, "--state-dir", str(state), until="answers on")


def written(agent: Agent, path: Path, content: bytes) -> str:
    """Place a file, write it, close it, and wait until the agent knows that."""
    conversation = agent.ask()
    assert conversation.answer.status == side.PLACE
    descriptor = conversation.create(path)
    os.write(descriptor, content)
    os.close(descriptor)
    placement: str = conversation.answer.placement
    agent.wait_for(f"placement {placement} of uid {os.geteuid()} ended: closed")
    return placement


def stopped_without_a_service(begin: Start, service: FakeService, mount: Path) -> tuple[str, str]:
    """An agent that was stopped: the placements of a file that ended meanwhile, and of one open still."""
    agent = begin(until="union has")
    agent.ask().close()
    service.kill()
    placement = written(agent, mount / "ended", b"12345")
    kept = agent.ask()
    kept.create(mount / "open")
    assert agent.stop() == 0
    service.revive()
    return placement, kept.answer.placement


def test_a_file_that_ended_without_a_service_is_reported_after_the_restart_with_how_it_was_placed(
    begin: Start, service: FakeService, tmp_path: Path, state: Path
) -> None:
    ended, still_open = stopped_without_a_service(begin, service, tmp_path)
    begin()
    service.wait_for_end(ended)
    assert service.restored(ended)
    assert [end["bytes_written"] for end in service.ended(ended)] == [5]
    wait_until(lambda: not (state / "unsent").exists(), "nothing is kept that was reported")
    assert service.ended(still_open) == []


@contextmanager
def answered_without_end(service: FakeService) -> Iterator[threading.Event]:
    """Have somebody in the service's place send heads of answers for ever; set when it was announced to."""
    announced, over = threading.Event(), threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the agent hung up
                if b"/announcements" in self.request.recv(4096):
                    announced.set()
                self.request.sendall(b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.1):
                    self.request.sendall(b"X-More: to come\r\n")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    service.kill()
    with Server(("127.0.0.1", int(service.url.rpartition(":")[2])), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield announced
        finally:
            over.set()
            server.shutdown()


@pytest.mark.long
def test_what_ended_is_kept_though_the_service_answers_without_end(
    begin: Start, service: FakeService, tmp_path: Path
) -> None:
    agent = begin(until="union has")
    agent.ask().close()
    with answered_without_end(service) as announced:
        ended = written(agent, tmp_path / "ended", b"1")
        wait_until(announced.is_set, "it is being reported")
        assert agent.stop() == 0
    assert not agent.says("a thread that hangs is left behind")
    service.revive()
    begin()
    service.wait_for_end(ended)


def test_what_is_kept_belongs_to_the_agent_alone(
    begin: Start, service: FakeService, tmp_path: Path, state: Path
) -> None:
    stopped_without_a_service(begin, service, tmp_path)
    assert (state / "unsent").stat().st_mode & 0o777 == 0o600


def test_what_is_kept_lasts_until_a_service_takes_it(
    begin: Start, service: FakeService, tmp_path: Path
) -> None:
    ended, _ = stopped_without_a_service(begin, service, tmp_path)
    service.kill()
    assert begin().stop() == 0
    service.revive()
    begin()
    service.wait_for_end(ended)


def test_an_agent_that_can_keep_nothing_says_what_is_lost(
    start: Start, service: FakeService, tmp_path: Path
) -> None:
    agent = start("--state-dir", "/proc/none", until="union has")
    agent.ask().close()  # the first question of a user waits for the service
    service.kill()
    written(agent, tmp_path / "ended", b"1")
    assert agent.stop() == 0
    assert agent.says("what ended is not kept for the next start, and stays without a record: /proc/none")


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n{}\nnull\n", b"\xff\n" * 9])
def test_a_file_that_is_none_changes_nothing(
    begin: Start, service: FakeService, tmp_path: Path, state: Path, content: bytes
) -> None:
    state.mkdir(mode=0o755)
    (state / "unsent").write_bytes(content)
    (state / "unsent").chmod(0o600)
    agent = begin(until="union has")
    service.wait_for_end(written(agent, tmp_path / "file", b"1"))


def test_a_pipe_in_the_place_of_what_was_kept_holds_up_nothing(
    begin: Start, service: FakeService, tmp_path: Path, state: Path
) -> None:
    state.mkdir(mode=0o755)
    for name in ("unsent", "agent.json"):
        os.mkfifo(state / name, 0o600)
    agent = begin(until="union has")
    service.wait_for_end(written(agent, tmp_path / "file", b"1"))
