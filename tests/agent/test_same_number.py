"""A file ends when it was closed, also where another file that is open got its number."""

import os
from pathlib import Path

import pytest
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent


@pytest.fixture
def union_options() -> str:
    """The union numbers files by their paths: what takes the place of a file has its number."""
    return "use_ino,inodecalc=path-hash"


def test_file_ends_though_its_process_had_another_of_its_number_open_at_the_close(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    """Takes up to ten seconds: so often the agent looks again at files that were closed."""
    conversation = agent.ask()
    placed = conversation.create(tmp_path / "file")
    number = os.fstat(placed).st_ino
    placement = conversation.answer.placement
    wait_until(lambda: service.opened(placement), "it is reported")
    (tmp_path / "file").unlink()
    other = os.open(tmp_path / "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    assert os.fstat(other).st_ino == number
    os.close(placed)
    conversation = agent.ask()
    later = conversation.create(tmp_path / "later")
    os.close(later)
    service.wait_for_end(conversation.answer.placement)  # the agent has seen the close before it
    assert service.ended(placement) == [], "it is taken for the file that is open"
    os.close(other)
    service.wait_for_end(placement)
