"""Users share the agent's messages, memory and log: what one does costs another nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_sources import link
from fake_service import FakeService
from patience import wait_until
from ran import ran
from running_agent import Agent, Start


@pytest.fixture(scope="module")
def backlog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("backlog") / "backlog_shares"
    return link(program, "backlog_shares.cpp")


@pytest.mark.timeout(1000)  # the compiler takes its time on a busy machine
def test_a_user_with_many_files_waiting_delays_and_displaces_no_other(backlog: Path) -> None:
    said = ran([backlog]).stdout
    assert said == "crowded 1, other 0, first batch 1 and 1, kept 1 and 0, moves in a batch 100\n"


@pytest.mark.timeout(1000)
def test_of_more_users_than_a_message_names_each_has_their_turn(backlog: Path) -> None:
    said = ran([backlog, "users"]).stdout
    assert said.splitlines() == [
        f"1 {most} of {count} in {messages}, again 0, an hour later 0"
        for count, most, messages in ((999, 999, 1), (1000, 1000, 1), (1001, 1000, 2), (2500, 1000, 3))
    ]


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_put_back_refused_and_said_again_all_is_reported_in_order(
    backlog: Path, seed: int
) -> None:
    said = ran([backlog, str(seed)], code=None).stdout
    assert said == "all told\n"


def test_a_refused_file_is_set_aside_at_once_and_the_others_are_known(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    asked = [agent.ask() for _ in range(9)]
    cursed = asked[0].answer.placement
    service.refuses = lambda report: "device: odd" if report.get("placement_id") == cursed else ""
    files = [conversation.create(tmp_path / f"f{number}") for number, conversation in enumerate(asked)]
    others = {conversation.answer.placement for conversation in asked[1:]}
    wait_until(lambda: others <= service.open_now(), "the others are known")
    agent.wait_for("the service refuses what was announced of user ")
    for fd in files:
        os.close(fd)
    wait_until(lambda: all(service.ended(other) for other in others), "the others have ended")
    bodies = [announcement.body for announcement in service.announcements()]
    opened = [file for body in bodies for file in body["opened"] if file["placement_id"] == cursed]
    assert len(opened) <= 2 or agent.was_kept_waiting(), "it is not said again"
    assert agent.log.read_text().count("the service refuses") == 1
    lines = Path(f"{agent.socket}.service").read_text().splitlines()
    assert lines[0] == f"reached {service.url}"
    assert lines[1].startswith("refused 1 what was announced of user ")


def test_an_end_that_is_refused_is_reported_without_its_figures(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    service.refuses = lambda report: "bytes_written: odd" if report.get("bytes_written") is not None else ""
    conversation = agent.ask()
    fd = conversation.create(tmp_path / "file")
    os.write(fd, b"abc")
    os.close(fd)
    service.wait_for_end(conversation.answer.placement)
    assert service.ended(conversation.answer.placement) == [{"reason": "closed", "bytes_written": None}]


def test_a_refused_decision_is_named_with_its_user_once(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    service.refuses = lambda report: "weight: odd" if "decided_at" in report else ""
    for number in range(3):
        conversation = agent.ask()
        os.close(conversation.create(tmp_path / f"f{number}"))
        service.wait_for_end(conversation.answer.placement)
    agent.wait_for("decisions: weight: odd")
    (line,) = [logged for logged in agent.log.read_text().splitlines() if "the service refuses" in logged]
    assert "of user " in line


ODD_MEMBERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "unknown": lambda answer: [*answer["unknown"], 7, "x"],
    "refused": lambda _: [{"placement_id": "x"}, 3],
    "refused_items": lambda _: [{"list": 1}, None],
    "open": lambda _: [{"placement_id": "a" * 16}, 5],
    "needs": lambda answer: [
        *answer["needs"],
        {
            "user": "mallory",
            "generation": "1",
            "requirements": [{"code": 3, "bound": -1, "weight": 1}, {"code": 3, "bound": 1, "weight": 0}],
        },
        7,
    ],
    "tables": lambda answer: [*answer["tables"], {"system": "other"}, 7],
}


@pytest.mark.parametrize("member", ODD_MEMBERS)
def test_one_odd_part_of_an_answer_hides_no_other(
    start: Start, service: FakeService, tmp_path: Path, member: str
) -> None:
    announced = service._announced

    def odd(body: dict[str, Any]) -> Any:
        answer = announced(body)
        answer.body[member] = ODD_MEMBERS[member](answer.body)
        return answer

    service._announced = odd  # type: ignore[method-assign]
    agent = start(until="union has 2 candidates")
    conversation = agent.ask()
    os.close(conversation.create(tmp_path / "file"))
    service.wait_for_end(conversation.answer.placement)
    agent.wait_for("that makes no sense")
    assert not agent.says("lost (") or agent.was_kept_waiting()


def test_paths_of_any_bytes_travel_and_none_makes_a_message_too_large(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    """Sixty paths that are six times as long in JSON, of which no service takes all at once."""
    agent.wait_for("union has 2 candidates")
    deep = tmp_path.joinpath(*["\x01" * 200] * 15, os.fsdecode(b'\xff\xed\xa0\x80\n"\\'))
    deep.mkdir(parents=True)
    asked = [agent.ask() for _ in range(60)]
    for number, conversation in enumerate(asked):
        conversation.create(deep / str(number))
    placements = {conversation.answer.placement for conversation in asked}
    wait_until(lambda: placements <= service.open_now(), "all are known")
    service.kill()
    service.forget()
    before = len(service.announcements())
    service.revive()
    wait_until(lambda: placements <= service.open_now(), "all are known to another service")
    sizes = [
        len(json.dumps(announcement.body, ensure_ascii=False).encode())
        for announcement in service.announcements()[before:]
    ]
    assert sum(sizes) > 2**20 > max(sizes)
    (opened,) = service.opened(asked[0].answer.placement)
    names = opened["path"].split("/")
    assert names[-3:] == ["\x01" * 200, '\ufffd\ufffd\ufffd\ufffd\n"\\', "0"]
