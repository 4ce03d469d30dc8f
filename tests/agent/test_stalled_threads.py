"""A thread of the agent that stalls is named, and what the agent knows is saved all the same."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import wait_until
from running_agent import Agent
from service_double import ServiceDouble
from ses.doctor.agent import check_threads
from ses.doctor.finding import State

STALLED = "thread survey has stalled for"

pytestmark = pytest.mark.root


@pytest.fixture
def jobs(base: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A jobs directory on a file system of its own, and who serves it."""
    below, above = base / "jobs-below", base / "jobs"
    below.mkdir()
    above.mkdir()
    serving = subprocess.Popen(["mergerfs", "-f", below, above])
    try:
        wait_until(above.is_mount, "the file system is mounted")
        yield above, serving
    finally:
        serving.kill()  # whoever waits for it goes on
        serving.wait()
        subprocess.run(["umount", "-l", above], check=False, capture_output=True)


@contextmanager
def hanging(serving: subprocess.Popen[bytes]) -> Iterator[None]:
    serving.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        serving.send_signal(signal.SIGCONT)


def waiting_threads(agent: Agent) -> set[Path]:
    """Those that wait for a FUSE file system, at both of two looks."""
    stacks = list(Path(f"/proc/{agent.process.pid}/task").glob("*/stack"))
    waiting = {one for one in stacks if "fuse" in one.read_text()}
    time.sleep(0.2)
    return {one for one in waiting if "fuse" in one.read_text()}


@pytest.mark.timeout(300)
def test_a_thread_that_hangs_on_storage_is_named_until_it_goes_on(
    start: Callable[..., Agent], service: ServiceDouble, jobs: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    directory, serving = jobs
    agent = start(service.url, "--jobs-dir", str(directory))
    agent.wait_for("service found")
    assert check_threads(agent.socket) == []
    with hanging(serving):
        agent.wait_for(STALLED)
        named = {"thread": "survey"}.items()
        wait_until(
            lambda: any(named <= one.items() for one in service.announcements()[-1].body["stalled"]),
            "the service hears which thread stalls",
        )
        (found,) = check_threads(agent.socket)
        assert found.state is State.FAULT
        assert "survey" in found.detail
        assert f"/proc/{agent.process.pid}/task/" in found.mend
    agent.wait_for("thread survey goes on")
    wait_until(lambda: service.announcements()[-1].body["stalled"] == [], "the service hears that it goes on")
    assert check_threads(agent.socket) == []
    assert agent.log.read_text().count(STALLED) == 1, "said once"


@pytest.mark.timeout(300)
def test_what_the_agent_knows_is_saved_though_a_thread_hangs(
    start: Callable[..., Agent], service: ServiceDouble, jobs: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    directory, serving = jobs
    agent = start(service.url, "--jobs-dir", str(directory))
    agent.wait_for("service found")
    saved = agent.socket.parent / "state/agent.json"
    wait_until(saved.exists, "it saves what the service describes")
    with hanging(serving):
        wait_until(lambda: waiting_threads(agent), "a thread hangs")
        saved.unlink()
        known = len(service.announcements())
        wait_until(lambda: len(service.announcements()) > known + 1, "the agent learns more")
        assert agent.stop() == 0
    assert saved.exists()
