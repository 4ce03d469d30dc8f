"""Plans: tickets lie in shared memory before programs want them, and go where they belong."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import plan_program
import program_side as side
import pytest
from patience import wait_until
from plan_program import Plan
from running_agent import Agent
from service_double import Answer, Request, ServiceDouble

SELF = os.geteuid()


@pytest.fixture
def planner(start: Callable[..., Agent], service: ServiceDouble) -> Agent:
    """An agent that keeps plans and has found the stand-in service."""
    agent = start(service.url, "--plans")
    agent.wait_for("service found")
    return agent


def plan_after_ask(agent: Agent, device: int, application: str = "app") -> Plan:
    """The plan the first question of a user brings about."""
    with agent.ask(device, application) as conversation:
        assert conversation.answer.status == side.PLACE
    return Plan(agent.socket, SELF)


def test_first_question_makes_a_plan_that_only_the_user_can_use(planner: Agent, device: int) -> None:
    plan = plan_after_ask(planner, device)
    assert plan_program.owner_of(plan.id) == (SELF, SELF, 0o600)
    head = plan.head()
    assert (head["magic"], head["version"], head["head_size"]) == (plan_program.MAGIC, 2, 4096)
    assert (head["size"], head["uid"], head["state"]) == (plan_program.SIZE, SELF, plan_program.ALIVE)
    assert head["socket_hash"] == plan_program.fnv1a(str(planner.socket))


def test_ticket_taken_is_told_with_its_file(
    planner: Agent, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    plan = plan_after_ask(planner, device)
    ticket = plan.take_soon(device, "app")
    assert ticket.elements == (service.placements[ticket.placement],)
    fd = plan.create(ticket, tmp_path / "file", application="app")
    wait_until(lambda: service.opened(ticket.placement), "the file is told")
    (told,) = service.opened(ticket.placement)
    status = os.fstat(fd)
    assert (told["path"], told["inode"]) == (str(tmp_path / "file"), str(status.st_ino))
    assert (told["device"], told["pid"], told["application"]) == (status.st_dev, os.getpid(), "app")
    os.write(fd, b"12345")
    assert not service.ended(ticket.placement)
    os.close(fd)
    service.wait_for_end(ticket.placement)
    assert service.ended(ticket.placement) == [{"reason": "closed", "bytes_written": 5}]


def test_ticket_names_a_stage_the_user_can_write(planner: Agent, device: int) -> None:
    ticket = plan_after_ask(planner, device).take_soon(device, "app")
    status = ticket.stage.stat()
    assert (ticket.stage.name, status.st_uid, status.st_mode & 0o777) == (str(SELF), SELF, 0o700)


@pytest.mark.parametrize(("error", "reason"), [(5, "failed"), (0, "unused"), (17, "unused")])
def test_ticket_without_a_file_goes_back(
    planner: Agent, service: ServiceDouble, device: int, error: int, reason: str
) -> None:
    plan = plan_after_ask(planner, device)
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, plan_program.NOT_CREATED, error=error)
    service.wait_for_end(ticket.placement)
    assert service.ended(ticket.placement)[0]["reason"] == reason
    assert not service.opened(ticket.placement)


def test_no_ticket_is_dealt_twice(planner: Agent, device: int) -> None:
    plan = plan_after_ask(planner, device)
    seen = []
    for number in range(200):
        if number % 10 == 0:
            with planner.ask(device, "app") as conversation:
                seen.append(conversation.answer.placement)
        else:
            ticket = plan.take_soon(device, "app")
            seen.append(ticket.placement)
            plan.report(ticket, plan_program.NOT_CREATED)
    assert len(set(seen)) == len(seen)


def test_unused_tickets_go_back_and_are_replaced(planner: Agent, service: ServiceDouble, device: int) -> None:
    plan = plan_after_ask(planner, device)
    wait_until(lambda: plan.stock(device, "app") > 0, "there is a ticket")
    before = set(service.placements)
    wait_until(lambda: any(service.ended(placement) for placement in before), "it goes back")
    wait_until(lambda: set(service.placements) > before and plan.stock(device, "app") > 0, "another comes")
    assert all(end["reason"] == "unused" for placement in before for end in service.ended(placement))


def test_storm_is_met_by_growing_batches_that_shrink_again(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    plan = plan_after_ask(planner, device)
    for _ in range(2000):
        plan.report(plan.take_soon(device, "app"), plan_program.NOT_CREATED)
    counts = [request.body["count"] for request in service.bookings()]
    assert max(counts) >= 64
    assert len(counts) < 200
    wait_until(lambda: plan.stock(device, "app") <= 2, "the stock is small again")
    wait_until(lambda: len(service.unended()) <= 4, "what was not used is back at the service")


def test_thousands_of_files_are_told_and_ended(
    planner: Agent, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    plan = plan_after_ask(planner, device)
    sizes = {}
    for number in range(3000):
        ticket = plan.take_soon(device, "app")
        fd = plan.create(ticket, tmp_path / f"f{number}")
        os.write(fd, b"x" * (number % 7))
        os.close(fd)
        sizes[ticket.placement] = (str(tmp_path / f"f{number}"), number % 7)
    wait_until(lambda: all(service.ended(placement) for placement in sizes), "all are ended")
    for placement, (path, size) in sizes.items():
        (told,) = service.opened(placement)
        assert (told["path"], service.ended(placement)[0]["bytes_written"]) == (path, size)


def test_only_few_are_booked_ahead_of_need(planner: Agent, service: ServiceDouble, device: int) -> None:
    plan = plan_after_ask(planner, device)
    wait_until(lambda: plan.stock(device, "app") > 0, "there is a ticket")
    assert plan.stock(device, "app") <= 2
    ahead = [request.body for request in service.bookings() if request.body.get("ahead")]
    assert ahead
    assert all(body["count"] <= 2 for body in ahead)


def test_ticket_of_a_question_that_got_another_one_is_not_held_ahead_of_need(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    """To the service it is a stream: held, it would keep other files away from its element."""
    late: list[str] = []

    def ahead_first(request: Request) -> Answer | None:
        if request.path != "/v1/placements" or request.body.get("ahead"):
            return None
        overtaken.wait(0.5)
        answer = service._book(request.body)
        late.extend(one["placement_id"] for one in answer.body["placements"])
        return answer

    overtaken = threading.Event()
    plan_after_ask(planner, device, "first")
    plan = Plan(planner.socket, SELF)
    service.instead = ahead_first
    with planner.ask(device, "app") as conversation:
        overtaken.set()
        assert conversation.answer.status == side.PLACE
        dealt = conversation.answer.placement
    wait_until(lambda: late, "the question's own ticket is booked")
    own = late[0]
    taken = [plan.take_soon(device, "app").placement for _ in range(2)]
    assert own not in taken
    if own != dealt:
        service.wait_for_end(own)
        assert [end["reason"] for end in service.ended(own)] == ["unused"]


def test_default_entry_waits_for_entries_of_applications_with_needs(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    service.applications = {"root" if SELF == 0 else os.getlogin(): ["tar", "dd"]}
    plan = plan_after_ask(planner, device)
    wait_until(lambda: plan.entry(device), "there is a default entry")
    assert {name for name, _ in plan.entries()} >= {"", "tar", "dd"}
    wait_until(lambda: all(plan.stock(device, name) for name in ("", "tar", "dd")), "all have tickets")
    whose = {request.body["subject"]["application"] for request in service.bookings()}
    assert whose >= {None, "tar", "dd"}


def test_no_default_entry_when_an_application_with_needs_finds_no_room(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    many = [f"program{number}" for number in range(plan_program.ENTRIES)]
    service.applications = {"root" if SELF == 0 else os.getlogin(): many}
    plan = plan_after_ask(planner, device)
    wait_until(lambda: plan.entry(device, many[10]), "the entries are there")
    assert plan.entry(device) is None


def test_changed_requirements_withdraw_the_tickets(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    def requirement(minimum: float) -> dict[str, object]:
        return {"kind": "current-write-rate", "minimum": minimum, "weight": 1, "strictness": "soft"}

    service.resolved = [requirement(10)]
    plan = plan_after_ask(planner, device)
    for _ in range(64):
        plan.report(plan.take_soon(device, "app"), plan_program.NOT_CREATED)
    wait_until(lambda: plan.stock(device, "app") > 4, "there is a stock")
    before = set(service.placements)
    service.resolved = [requirement(20)]
    wait_until(lambda: set(service.placements) > before, "something is booked")
    wait_until(lambda: before <= service.placements.keys() - service.unended(), "all from before are back")
    assert plan.take_soon(device, "app").placement not in before


def test_tickets_on_an_element_that_cannot_be_used_are_withdrawn(
    planner: Agent, service: ServiceDouble, device: int, branches: dict[str, Path]
) -> None:
    plan = plan_after_ask(planner, device)
    for _ in range(64):
        plan.report(plan.take_soon(device, "app"), plan_program.NOT_CREATED)
    bad = branches["union/b1"]
    bad.rename(bad.with_name("away"))
    planner.wait_for("element union/b1 is not used")
    wait_until(lambda: set(plan.waiting(device, "app")) == {("union/b2",)}, "the others are withdrawn")
    assert {plan.take_soon(device, "app").elements for _ in range(20)} == {("union/b2",)}
