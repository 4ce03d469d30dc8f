"""What the service took and had not stored when it was killed is reported again; what it stored is not."""

import os
from pathlib import Path

import pytest
from agent_sources import link
from fake_service import FakeService
from patience import wait_until
from ran import ran
from running_agent import Agent


def short_lived(agent: Agent, service: FakeService, path: Path) -> str:
    """Place a file, close it, and wait until the service has taken both."""
    conversation = agent.ask("app")
    os.close(conversation.create(path))
    service.wait_for_end(conversation.answer.placement)
    return conversation.answer.placement


def reborn(agent: Agent, service: FakeService) -> None:
    """Kill the service, which forgets all, and wait until what is open is reported to another."""
    service.kill()
    service.forget()
    service.decided.clear()
    before = len(service.announcements())
    service.revive()
    wait_until(
        lambda: any(announcement.body["complete"] for announcement in service.announcements()[before:]),
        "it is reported again",
    )


def test_end_that_was_taken_and_not_stored_is_reported_again_with_how_the_file_was_placed(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    service.stores = False
    placement = short_lived(agent, service, tmp_path / "file")
    said = service.opened(placement), service.ended(placement), service.decided[placement][0]
    reborn(agent, service)
    service.wait_for_end(placement)
    assert (service.opened(placement), service.ended(placement)) == said[:2]
    assert service.decided[placement][0]["batch_number"] == said[2]["batch_number"]


def test_end_that_is_stored_is_not_reported_again(agent: Agent, service: FakeService, tmp_path: Path) -> None:
    stored = short_lived(agent, service, tmp_path / "stored")
    service.stores = False
    taken = short_lived(agent, service, tmp_path / "taken")
    reborn(agent, service)
    service.wait_for_end(taken)
    assert service.opened(stored) == []


def test_numbers_of_announcements_grow(agent: Agent, service: FakeService, tmp_path: Path) -> None:
    for number in range(3):
        short_lived(agent, service, tmp_path / f"f{number}")
    numbers = [announcement.body["number"] for announcement in service.announcements()]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


@pytest.fixture(scope="module")
def backlog_bound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("backlog") / "backlog_bound"
    return link(program, "backlog_bound.cpp")


@pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine
def test_what_is_kept_for_a_service_that_never_stores_is_bounded(backlog_bound: Path) -> None:
    """The oldest go first: it has taken them, after all."""
    said = ran([backlog_bound, "30000"]).stdout
    assert said == "known 10000, first 20001, to be said 10000 and 10000, known in the end 0\n"
