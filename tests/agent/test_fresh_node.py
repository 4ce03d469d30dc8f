"""The first files of a node, or the first since its service came: they are placed by what it says."""

import time

import program_side as side
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent, Start

FILES = 5
LOOKS_IN_VAIN = 6  # from then on an agent that nobody needs waits for seconds before it looks again


def lonely(start: Start, service: FakeService, *options: str) -> Agent:
    """An agent that has looked for its service in vain so often that it looks seldom."""
    service.kill()
    agent = start(*options, until="answers on")
    wait_until(lambda: agent.log.read_text().count("lost (") >= LOOKS_IN_VAIN, "the agent looks in vain")
    service.revive()
    return agent


def ask_at_once(agent: Agent) -> list[side.Answer]:
    """What as many programs are told that ask before any of them has an answer."""
    with agent.held():
        waiting = [side.connect(agent.socket) for _ in range(FILES)]
        for connection in waiting:
            connection.send(side.ask_message(agent.device, "fresh"))
    answers = [side.parse_answer(connection.recv(4096)) for connection in waiting]
    for connection in waiting:
        connection.close()
    return answers


def test_files_written_at_once_as_soon_as_a_service_is_there_are_placed(
    start: Start, service: FakeService
) -> None:
    agent = lonely(start, service)
    answers = ask_at_once(agent)
    assert [answer.status for answer in answers] == [side.PLACE] * FILES
    assert len({answer.placement for answer in answers}) == FILES
    assert {answer.element for answer in answers} == set(service.targets), "in turn"


def test_program_that_needs_a_service_is_not_held_up_where_there_is_none(
    start: Start, service: FakeService
) -> None:
    """Each is told as soon as nobody was met, not after the ten seconds that the agent may take here."""
    service.kill()
    agent = start(until="lost (")
    begin = time.monotonic()
    for _ in range(FILES):
        assert agent.status() == side.UNAVAILABLE
    assert time.monotonic() - begin < FILES * 10 / 2
