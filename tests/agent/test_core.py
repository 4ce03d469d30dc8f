"""A core of its own: the loop stays there and polls, so that no program has to wake the agent."""

import os
import time
from pathlib import Path

import pytest
from claims_program import Claims, Table
from patience import wait_until
from ran import ran
from running_agent import Agent, Start

CORE = max(os.sched_getaffinity(0))


def sleeps(agent: Agent) -> int:
    """How often the loop gave up the processor by itself."""
    pid = agent.process.pid
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def test_the_loop_polls_on_its_core_and_is_never_asleep(start: Start) -> None:
    agent = start("--core", str(CORE))
    pid = agent.process.pid
    wait_until(lambda: os.sched_getaffinity(pid) == {CORE}, "the loop is on its core")
    others = {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()} - {pid}
    assert all(os.sched_getaffinity(task) == os.sched_getaffinity(0) for task in others)
    agent.ask().close()
    claims = Claims(agent.socket, os.getuid())
    claims.wait_until_staged()

    def polls_for_a_second() -> bool:
        """An idle agent without a core sleeps within 30 ms; this one may wait for another thread."""
        before, end = sleeps(agent), time.monotonic() + 1
        while time.monotonic() < end:
            assert claims.table.get32(Table.ASLEEP) == 0
            time.sleep(0.01)
        return sleeps(agent) - before < 20

    wait_until(polls_for_a_second, "it does not give up the processor")
    claim = claims.choose()
    wait_until(
        lambda: sum(claims.table.own().values()) >= 1, "the claim is counted, though nobody woke the agent"
    )
    assert claim.element in claims.table.own()
    claims.detach()
    claims.table.detach()


def test_it_may_sleep_there(start: Start) -> None:
    agent = start("--core", str(CORE), "--sleep")
    table = Table(agent.socket)
    wait_until(lambda: table.get32(Table.ASLEEP) == 1, "it sleeps")
    assert os.sched_getaffinity(agent.process.pid) == {CORE}
    table.detach()


@pytest.mark.parametrize(
    ("options", "message"), [(("--core", "1023"), "--core 1023"), (("--sleep",), "--core")]
)
def test_a_core_that_cannot_be_had_is_refused(
    binary: Path, base: Path, options: tuple[str, ...], message: str
) -> None:
    command = [
        binary,
        "--service",
        "http://127.0.0.1:9",
        "--socket",
        base / "a.sock",
        "--state-dir",
        base / "s",
    ]
    done = ran([*command, *options], code=None)
    assert done.returncode != 0
    assert message in done.stderr
