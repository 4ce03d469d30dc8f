"""A service that is away, slow or talks rubbish: programs are told in time, and all mends itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import program_side as side
import pytest
from patience import PATIENCE, wait_until
from running_agent import Agent
from service_double import Answer, Request, ServiceDouble, as_usual, problem

#: Much longer than any answer may take and much shorter than the faults last.
SOON = 20.0


def status_of(agent: Agent, device: int, application: str = "app") -> int:
    begun = time.monotonic()
    with agent.ask(device, application) as conversation:
        assert time.monotonic() - begun < SOON
        return conversation.answer.status


def wait_until_placed(agent: Agent, device: int) -> None:
    wait_until(lambda: status_of(agent, device) == side.PLACE, "programs are placed again")


def only_bookings(answer: Answer) -> Callable[[Request], Answer | None]:
    return lambda request: answer if request.path == "/v1/placements" else None


def always(answer: Answer) -> Callable[[Request], Answer | None]:
    return lambda _: answer


FAULTS = {
    "internal-error": Answer(500, b"<html>oops</html>"),
    "starting": problem(503, "not-ready", "starting"),
    "not-json": Answer(201, b"\x00\xff{{{"),
    "other-json": Answer(201, [1, 2, 3]),
    "no-placements": Answer(201, {"placements": []}),
    "bad-id": Answer(201, {"placements": [{"placement_id": "xyz"}]}),
    "relative-target": Answer(
        201,
        {
            "placements": [
                {
                    "placement_id": "00000000000000ab",
                    "element": "union/b1",
                    "backend": "mergerfs",
                    "target": "../etc",
                    "distance": 0,
                }
            ]
        },
    ),
    "redirect": Answer(302, {}, {"Location": "/elsewhere"}),
    "token-refused": problem(401, "unauthorized", "unknown token"),
    "huge": Answer(201, b"[" + b" " * (5 << 20) + b"]"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_answer_that_cannot_be_used_is_unavailable_and_mends_itself(
    agent: Agent, service: ServiceDouble, device: int, fault: Answer
) -> None:
    service.instead = only_bookings(fault)
    assert status_of(agent, device) == side.UNAVAILABLE
    agent.wait_for("lost (")
    service.instead = as_usual
    wait_until_placed(agent, device)
    agent.wait_for("service found again")


def test_refused_token_is_named_in_the_log(agent: Agent, service: ServiceDouble, device: int) -> None:
    service.instead = only_bookings(FAULTS["token-refused"])
    assert status_of(agent, device) == side.UNAVAILABLE
    agent.wait_for("it refuses this node's token: HTTP 401 unknown token")


def test_dead_service_is_unavailable_at_once_and_found_again(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    service.kill()
    assert status_of(agent, device) == side.UNAVAILABLE
    service.revive()
    wait_until_placed(agent, device)


def test_service_that_was_never_there_is_unavailable_until_it_comes(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    service.kill()
    agent = start(service.url)
    assert status_of(agent, device) == side.UNAVAILABLE
    service.revive()
    wait_until_placed(agent, device)


def test_loss_is_logged_once_however_many_ask(agent: Agent, service: ServiceDouble, device: int) -> None:
    service.kill()
    for number in range(50):
        assert status_of(agent, device, f"app{number}") == side.UNAVAILABLE
    agent.wait_for("still lost")
    assert agent.log.read_text().count("warning: service at") == 1


def test_hanging_service_costs_a_program_its_budget_and_no_more(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    agent = start(service.url, "--answer-ms", "50")
    agent.wait_for("service found")
    service.instead = only_bookings(Answer(delay=3600.0))
    assert status_of(agent, device) == side.UNAVAILABLE
    agent.wait_for("lost (no reply within")
    service.instead = as_usual
    service.released.set()
    wait_until_placed(agent, device)


def test_answer_that_comes_too_late_is_dealt_to_the_next_or_handed_back(
    start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    agent = start(service.url, "--answer-ms", "1")
    agent.wait_for("service found")

    def slow(request: Request) -> Answer | None:
        if request.path == "/v1/placements":
            time.sleep(0.2)
        return None

    service.instead = slow
    assert status_of(agent, device) == side.UNAVAILABLE
    wait_until(lambda: service.placements, "the late booking is made")
    wait_until(lambda: not service.unended(), "it is handed back")
    assert not agent.says("lost"), "slow is not lost"

    def dealt_from_a_late_answer() -> bool:
        return status_of(agent, device) == side.PLACE

    wait_until(dealt_from_a_late_answer, "a late answer serves the next question")


def test_wish_of_the_service_to_be_left_alone_is_honoured(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    service.instead = always(problem(503, "busy", "later", **{"Retry-After": "2"}))
    assert status_of(agent, device) == side.UNAVAILABLE
    asked = service.requests[-1].at

    def later() -> list[float]:
        """When it asked, but for what was under way when it was told to wait."""
        return [one.at - asked for one in list(service.requests) if one.at - asked > 0.3]

    wait_until(lambda: bool(later()), "the agent asks again")
    assert later()[0] > 1.5


def test_reports_wait_for_the_service_to_come_back(
    agent: Agent, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    conversation = agent.ask(device)
    placement = conversation.answer.placement
    service.kill()
    fd = conversation.create(tmp_path / "file")
    agent.wait_for("lost (")
    os.write(fd, b"abc")
    os.close(fd)
    service.revive()
    wait_until(lambda: service.ended(placement), "the end is told")
    assert service.ended(placement) == [{"reason": "closed", "bytes_written": 3}]
    assert service.opened(placement), "told before the end"


def test_open_files_are_announced_again_to_a_service_that_restarted(
    agent: Agent, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    conversation = agent.ask(device)
    placement = conversation.answer.placement
    fd = conversation.create(tmp_path / "file")
    wait_until(lambda: service.opened(placement), "the service is told")
    (told,) = service.opened(placement)
    service.kill()
    service.forget()
    assert status_of(agent, device, "another") == side.UNAVAILABLE
    service.revive()
    wait_until(lambda: service.restored(placement), "it is told again, with how it came about")
    assert service.opened(placement) == [told]
    (restore,) = service.restored(placement)[:1]
    assert abs(restore.pop("booked_at") - told["opened_at"]) < PATIENCE
    assert restore == {
        "element": conversation.answer.element,
        "expected_bytes": None,
        "distance": conversation.answer.distance,
        "decided_by": "service",
        "notes": [],
    }
    os.close(fd)
    service.wait_for_end(placement)


def test_report_that_breaks_the_service_does_not_hold_up_the_others(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    tried: list[str] = []

    def broken(request: Request) -> Answer | None:
        ends = [end["placement_id"] for end in request.body.get("ended", ())]
        tried.extend(end for end in ends if end == cursed)
        return Answer(500, {}) if cursed in ends else None

    with agent.ask(device) as conversation:
        cursed = conversation.answer.placement
        service.instead = broken
    others = []
    for _ in range(4):
        with agent.ask(device) as conversation:
            others.append(conversation.answer.placement)
    wait_until(lambda: all(service.ended(placement) for placement in others), "the others are told")
    assert 3 <= len(tried) < 20, "it is not tried for ever"
    assert agent.says("the service refuses a report, which is dropped: HTTP 500")


def test_token_of_the_file_is_shown_to_the_service(
    start: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("secret-1\n")
    agent = start(service.url, "--token-file", str(token))
    agent.wait_for("service found")
    assert status_of(agent, device) == side.PLACE
    assert {request.token for request in service.requests} == {"Bearer secret-1"}
    assert not agent.says("secret-1")


def test_replaced_token_is_read_when_the_old_one_is_refused(
    start: Callable[..., Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("secret-1\n")
    agent = start(service.url, "--token-file", str(token))
    agent.wait_for("service found")
    refused = problem(401, "unauthorized", "revoked")
    service.instead = lambda request: refused if request.token != "Bearer secret-2" else None
    assert status_of(agent, device) == side.UNAVAILABLE
    token.write_text("secret-2\n")
    wait_until_placed(agent, device)
