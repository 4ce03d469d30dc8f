"""A thread of the agent that stalls is named, and what the agent knows is saved all the same."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_service import FakeService
from mounts import served, stopped
from patience import wait_until
from running_agent import Agent, Start
from ses.doctor.agent import check_threads
from ses.doctor.finding import State

STALLED = "thread survey has stalled for"

pytestmark = pytest.mark.root


@pytest.fixture
def jobs(base: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A jobs directory on a file system of its own, and who serves it."""
    with served(base / "jobs", base / "jobs-below") as serving:
        yield base / "jobs", serving


@pytest.fixture
def agent(start: Start, jobs: tuple[Path, subprocess.Popen[bytes]]) -> Agent:
    return start("--jobs-dir", str(jobs[0]))


def waits_for_fuse(task: Path) -> bool:
    try:
        return "fuse" in (task / "stack").read_text()
    except OSError:  # it ended meanwhile
        return False


def waiting_threads(agent: Agent) -> set[Path]:
    """Those that wait for a FUSE file system, at both of two looks."""
    tasks = Path(f"/proc/{agent.process.pid}/task").iterdir()
    waiting = {task for task in tasks if waits_for_fuse(task)}
    time.sleep(0.2)
    return {task for task in waiting if waits_for_fuse(task)}


@pytest.mark.timeout(300)
def test_a_thread_that_hangs_on_storage_is_named_until_it_goes_on(
    agent: Agent, service: FakeService, jobs: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    assert not [*check_threads(agent.socket)]
    with stopped(jobs[1]):
        agent.wait_for(STALLED)
        named = {"thread": "survey"}.items()
        wait_until(
            lambda: any(named <= thread.items() for thread in service.announcements()[-1].body["stalled"]),
            "the service hears which thread stalls",
        )
        (finding,) = check_threads(agent.socket)
        assert finding.state is State.FAULT
        assert "survey" in finding.detail
        assert f"/proc/{agent.process.pid}/task/" in finding.mend
    agent.wait_for("thread survey goes on")
    wait_until(lambda: service.announcements()[-1].body["stalled"] == [], "the service hears that it goes on")
    assert not [*check_threads(agent.socket)]
    assert agent.log.read_text().count(STALLED) == 1, "said once"


@pytest.mark.timeout(300)
def test_what_the_agent_knows_is_saved_though_a_thread_hangs(
    agent: Agent, service: FakeService, jobs: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    saved = agent.socket.parent / "state/agent.json"
    wait_until(saved.exists, "it saves what the service describes")
    with stopped(jobs[1]):
        wait_until(lambda: waiting_threads(agent), "a thread hangs")
        saved.unlink()
        known = len(service.announcements())
        wait_until(lambda: len(service.announcements()) > known + 1, "the agent learns more")
        assert agent.stop() == 0
    assert saved.exists()
