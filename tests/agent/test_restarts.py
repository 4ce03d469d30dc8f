"""Agents and services that are killed and come back, one or several: the ledger ends up as things are."""

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService, problem
from patience import wait_until
from running_agent import Agent, Start


@pytest.fixture
def other(mount_point: Path, branches: dict[str, Path]) -> Iterator[FakeService]:
    """A second service of the site, with a ledger of its own."""
    fake = FakeService(mount_point, branches)
    yield fake
    fake.close()


def placed(agent: Agent, application: str = "app") -> str:
    with agent.ask(application) as conversation:
        assert conversation.answer.status == side.PLACE
        return conversation.answer.placement


def test_killed_agents_files_are_watched_again_or_ended_by_the_next(
    start: Start, service: FakeService, tmp_path: Path
) -> None:
    first = start()
    files = {}
    for name in ("kept", "closed", "removed"):
        conversation = first.ask()
        files[name] = (conversation.answer.placement, conversation.create(tmp_path / name))
    wait_until(lambda: all(service.opened(placement) for placement, _ in files.values()), "all are reported")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    os.close(files["closed"][1])
    (tmp_path / "removed").unlink()
    start(until="of 3 placed files that were open, 2 still are")
    service.wait_for_end(files["closed"][0])
    assert service.open_now() == {files["kept"][0], files["removed"][0]}
    for name in ("kept", "removed"):
        placement, fd = files[name]
        os.write(fd, b"12345")
        os.close(fd)
        service.wait_for_end(placement)
        assert service.ended(placement) == [{"reason": "closed", "bytes_written": 5}]


def test_another_incarnation_is_told_apart(start: Start, service: FakeService) -> None:
    for _ in range(2):
        agent = start()
        count = len(service.announcements())
        wait_until(lambda count=count: len(service.announcements()) > count, "it announces itself")
        agent.stop()
    incarnations = {request.body["incarnation"] for request in service.announcements()}
    assert len(incarnations) == 2
    assert all(len(incarnation) == 16 for incarnation in incarnations)


def test_everything_open_is_reported_to_a_restarted_service(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    conversations = [agent.ask() for _ in range(5)]
    fds = [
        conversation.create(tmp_path / f"file{number}") for number, conversation in enumerate(conversations)
    ]
    placements = {conversation.answer.placement for conversation in conversations}
    wait_until(lambda: service.open_now() == placements, "all are reported")
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

    # What was reported without an answer, before the service was killed, may come again before the list.
    wait_until(listed, "the restarted service has a complete list")
    reported = listed()
    assert placements - {gone} <= reported <= placements, "the one just closed may be reported first as open"
    for fd in fds[1:]:
        os.close(fd)
    wait_until(lambda: not service.open_now(), "all are ended")


def test_next_service_is_used_when_the_first_fails(
    start: Start, service: FakeService, other: FakeService, tmp_path: Path
) -> None:
    agent = start("--service", other.url)
    conversation = agent.ask()
    fd = conversation.create(tmp_path / "file")
    placement = conversation.answer.placement
    wait_until(lambda: service.opened(placement), "the first service has its report")
    assert other.requests == [] or agent.was_kept_waiting()
    service.kill()
    wait_until(lambda: other.restored(placement), "the second takes up what is open")
    os.close(fd)
    other.wait_for_end(placement)


def test_first_service_is_used_again_when_the_second_fails(
    start: Start, service: FakeService, other: FakeService
) -> None:
    service.kill()
    agent = start("--service", other.url, until=f"service found at {other.url}")
    service.revive()
    other.kill()
    agent.wait_for(f"service found again at {service.url}")
    assert placed(agent)
    wait_until(service.announcements, "the first is reported")


def test_overloaded_service_is_left_for_another(
    start: Start, service: FakeService, other: FakeService
) -> None:
    service.instead = lambda _: problem(503, "overloaded", "later", **{"Retry-After": "60"})
    agent = start("--service", other.url, until=f"service found at {other.url}")
    assert placed(agent)
    assert other.announcements()
    assert len(service.requests) == 1 or agent.was_kept_waiting()


def test_sign_of_life_keeps_the_pace_of_the_service(start: Start, service: FakeService) -> None:
    service.pace = 0.5
    start()

    def signs() -> list[float]:
        """When, but for those at once since somebody has come to this machine."""
        moments: list[float] = []
        seen: set[str] = set()
        for request in service.announcements():
            if seen.issuperset(request.body["users"]):
                moments.append(request.at)
            seen.update(request.body["users"])
        return moments

    wait_until(lambda: len(signs()) >= 8, "signs of life come")
    times = signs()[2:]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    # All together: a sign that the machine delays comes close before the next.
    assert sum(pauses) / len(pauses) > 0.2, "no more often than asked for, within chance"
    assert len({round(pause, 3) for pause in pauses}) > 1, "never all agents at once"
