"""The first files of a node, or the first since its service came: the service decides where they go."""

from __future__ import annotations

import time
from collections.abc import Callable

import program_side as side
import pytest
from patience import wait_until
from running_agent import Agent
from service_double import ServiceDouble
from snapshots import snapshot_of

FILES = 5
LOOKS_IN_VAIN = 6  # from then on an agent that nobody needs waits for seconds before it looks again


def lonely(start: Callable[..., Agent], service: ServiceDouble, *options: str) -> Agent:
    """An agent that has looked for its service in vain so often that it looks seldom."""
    service.kill()
    agent = start(service.url, *options)
    wait_until(lambda: agent.log.read_text().count("lost (") >= LOOKS_IN_VAIN, "the agent looks in vain")
    service.revive()
    return agent


def ask_at_once(agent: Agent, device: int, plan: str) -> list[side.Answer]:
    """What as many programs are told that ask before any of them has an answer."""
    waiting = [side.connect(agent.socket) for _ in range(FILES)]
    for connection in waiting:
        connection.send(side.ask_message(device, f"fresh-{plan}"))
    answers = [side.parse_answer(connection.recv(4096)) for connection in waiting]
    for connection in waiting:
        connection.close()
    return answers


@pytest.mark.parametrize("plans", ["--plans", "--no-plans"])
def test_files_written_at_once_as_soon_as_a_service_is_there_are_placed_by_it(
    start: Callable[..., Agent], service: ServiceDouble, device: int, plans: str
) -> None:
    agent = lonely(start, service, plans)
    answers = ask_at_once(agent, device, plans)
    assert [answer.status for answer in answers] == [side.PLACE] * FILES
    assert {answer.placement for answer in answers} <= service.placements.keys(), "booked at the service"
    assert len({answer.placement for answer in answers}) == FILES


def test_agent_that_could_choose_itself_asks_a_service_that_has_come(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    service.snapshot = snapshot_of(service, best="union/b1")
    first = start(service.url)
    first.wait_for("snapshot of 2 elements")
    assert first.stop() == 0
    agent = lonely(start, service, "--state-dir", str(first.socket.parent / "state"))
    answers = ask_at_once(agent, device, "kept")
    assert [answer.status for answer in answers] == [side.PLACE] * FILES
    assert {answer.placement for answer in answers} <= service.placements.keys(), "booked at the service"


def test_program_that_needs_a_service_is_not_held_up_where_there_is_none(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    """Each is told as soon as nobody was met, not after the ten seconds that the agent may take here."""
    service.kill()
    agent = start(service.url)
    agent.wait_for("lost (")
    begin = time.monotonic()
    for _ in range(FILES):
        with agent.ask(device) as conversation:
            assert conversation.answer.status == side.UNAVAILABLE
    assert time.monotonic() - begin < FILES * 10 / 2
