"""Agents and services that are killed and come back, one or several: the ledger ends up as things are."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService, problem
from patience import wait_until
from running_agent import Agent


@pytest.fixture
def other(mount_point: Path, branches: dict[str, Path]) -> Iterator[FakeService]:
    """A second service of the site, with a ledger of its own."""
    fake = FakeService(mount_point, branches)
    yield fake
    fake.close()


def placed(agent: Agent, device: int, application: str = "app") -> str:
    with agent.ask(device, application) as conversation:
        assert conversation.answer.status == side.PLACE
        return conversation.answer.placement


def test_killed_agents_files_are_watched_again_or_ended_by_the_next(
    start: Callable[..., Agent], service: FakeService, device: int, tmp_path: Path
) -> None:
    first = start(service.url)
    first.wait_for("service found")
    files = {}
    for name in ("kept", "closed", "removed"):
        conversation = first.ask(device)
        files[name] = (conversation.answer.placement, conversation.create(tmp_path / name))
    wait_until(lambda: all(service.opened(placement) for placement, _ in files.values()), "all are told")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    os.close(files["closed"][1])
    (tmp_path / "removed").unlink()
    second = start(service.url)
    second.wait_for("of 3 placed files that were open, 2 still are")
    service.wait_for_end(files["closed"][0])
    assert service.open_now() == {files["kept"][0], files["removed"][0]}
    for name in ("kept", "removed"):
        placement, fd = files[name]
        os.write(fd, b"12345")
        os.close(fd)
        service.wait_for_end(placement)
        assert service.ended(placement) == [{"reason": "closed", "bytes_written": 5}]


def test_another_incarnation_is_told_apart(start: Callable[..., Agent], service: FakeService) -> None:
    for _ in range(2):
        agent = start(service.url)
        count = len(service.announcements())
        wait_until(lambda count=count: len(service.announcements()) > count, "it announces itself")
        agent.stop()
    incarnations = {request.body["incarnation"] for request in service.announcements()}
    assert len(incarnations) == 2
    assert all(len(incarnation) == 16 for incarnation in incarnations)


def test_restarted_service_is_told_everything_that_is_open(
    agent: Agent, service: FakeService, device: int, tmp_path: Path
) -> None:
    conversations = [agent.ask(device) for _ in range(5)]
    fds = [
        conversation.create(tmp_path / f"file{number}") for number, conversation in enumerate(conversations)
    ]
    placements = {conversation.answer.placement for conversation in conversations}
    wait_until(lambda: service.open_now() == placements, "all are told")
    service.kill()
    service.forget()
    os.close(fds[0])
    service.revive()
    gone = conversations[0].answer.placement
    wait_until(lambda: service.open_now() == placements - {gone}, "the ledger is what is open")

    def listed() -> set[str]:
        """What the last complete list held: that of the agent's start was empty."""
        lists = [request.body for request in service.announcements() if request.body["complete"]]
        return {file["placement_id"] for file in lists[-1]["opened"]}

    # What was told without an answer, before the service was killed, may be told again before the list.
    wait_until(listed, "the restarted service has a complete list")
    told = listed()
    assert placements - {gone} <= told <= placements, "the one just closed may be told first as open"
    for fd in fds[1:]:
        os.close(fd)
    wait_until(lambda: not service.open_now(), "all are ended")


def test_next_service_is_used_when_the_first_fails(
    start: Callable[..., Agent], service: FakeService, other: FakeService, device: int, tmp_path: Path
) -> None:
    agent = start(service.url, "--service", other.url)
    agent.wait_for("service found")
    conversation = agent.ask(device)
    fd = conversation.create(tmp_path / "file")
    placement = conversation.answer.placement
    wait_until(lambda: service.opened(placement), "the first service is told")
    assert other.requests == [] or agent.was_kept_waiting()
    service.kill()
    wait_until(lambda: other.restored(placement), "the second takes up what is open")
    os.close(fd)
    other.wait_for_end(placement)


def test_first_service_is_used_again_when_the_second_fails(
    start: Callable[..., Agent], service: FakeService, other: FakeService, device: int
) -> None:
    service.kill()
    agent = start(service.url, "--service", other.url)
    agent.wait_for(f"service found at {other.url}")
    service.revive()
    other.kill()
    agent.wait_for(f"service found again at {service.url}")
    assert placed(agent, device)
    wait_until(service.announcements, "the first is told")


def test_overloaded_service_is_left_for_another(
    start: Callable[..., Agent], service: FakeService, other: FakeService, device: int
) -> None:
    service.instead = lambda _: problem(503, "overloaded", "later", **{"Retry-After": "60"})
    agent = start(service.url, "--service", other.url)
    agent.wait_for(f"service found at {other.url}")
    assert placed(agent, device)
    assert other.announcements()
    assert len(service.requests) == 1 or agent.was_kept_waiting()


def test_sign_of_life_keeps_the_pace_of_the_service(
    start: Callable[..., Agent], service: FakeService
) -> None:
    service.pace = 0.5
    agent = start(service.url)
    agent.wait_for("service found")

    def signs() -> list[float]:
        """When, but for those at once since somebody has come to this machine."""
        found: list[float] = []
        seen: set[str] = set()
        for request in service.announcements():
            if seen.issuperset(request.body["users"]):
                found.append(request.at)
            seen.update(request.body["users"])
        return found

    wait_until(lambda: len(signs()) >= 8, "signs of life come")
    times = signs()[2:]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    # All together: a sign that the machine delays comes close before the next.
    assert sum(pauses) / len(pauses) > 0.2, "no more often than asked for, within chance"
    assert len({round(pause, 3) for pause in pauses}) > 1, "never all agents at once"
