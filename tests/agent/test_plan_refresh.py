"""A file that is closed: tickets dealt while it was open stand on another load than there is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import wait_until
from plan_program import Plan
from running_agent import Agent
from service_double import ServiceDouble

SELF = os.geteuid()

Ready = Callable[[float], Plan]


@pytest.fixture
def ready(start: Callable[..., Agent], service: ServiceDouble, device: int) -> Ready:
    """A plan with tickets, of an agent whose service asks for news each so many seconds."""

    def plan(pace: float) -> Plan:
        service.pace = pace
        agent = start(service.url, "--plans")
        agent.wait_for("service found")
        with agent.ask(device):
            pass
        made = Plan(agent.socket, SELF)
        wait_until(lambda: made.stock(device) > 0, "there are tickets")
        return made

    return plan


def test_the_next_ticket_is_chosen_again_when_the_file_is_closed(
    ready: Ready, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    plan = ready(5.0)
    ticket = plan.take_soon(device)
    fd = plan.create(ticket, tmp_path / "file")
    wait_until(lambda: service.opened(ticket.placement), "the file is known to be open")
    wait_until(lambda: plan.stock(device) > 0, "there is another ticket")
    beside = service.unended() - {ticket.placement}
    os.close(fd)
    service.wait_for_end(ticket.placement)
    wait_until(lambda: not beside & service.unended(), "what was dealt beside it has gone back")
    assert {end["reason"] for one in beside for end in service.ended(one)} == {"unused"}
    wait_until(lambda: plan.stock(device) > 0, "and another was booked instead")


def test_somebody_can_always_take_a_ticket_meanwhile(
    ready: Ready, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    plan = ready(5.0)
    for number in range(5):
        ticket = plan.take_soon(device)
        fd = plan.create(ticket, tmp_path / f"file{number}")
        wait_until(lambda: plan.stock(device) > 0, "there is another ticket")
        os.close(fd)
        service.wait_for_end(ticket.placement)
        (end,) = service.ended(ticket.placement)
        assert end["reason"] == "closed"
    entry = plan.entry(device)
    assert entry
    assert entry.missed == 0


def test_a_service_with_many_nodes_is_spared(
    ready: Ready, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    plan = ready(60.0)
    ticket = plan.take_soon(device)
    fd = plan.create(ticket, tmp_path / "file")
    wait_until(lambda: service.opened(ticket.placement), "the file is known to be open")
    wait_until(lambda: plan.stock(device) > 0, "there is another ticket")
    before = plan.entry(device)
    os.close(fd)
    service.wait_for_end(ticket.placement)
    other = plan.create(plan.take_soon(device, "app"), tmp_path / "other")
    wait_until(lambda: len(service.open_now()) == 1, "the agent went on talking with the service")
    after = plan.entry(device)
    assert before
    assert after
    assert after.taken == before.taken
    os.close(other)
