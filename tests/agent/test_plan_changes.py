"""A requirement that changes reaches the tickets that are already dealt."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable

import plan_program
import pytest
from patience import wait_until
from plan_program import Entry, Plan
from running_agent import Agent
from service_double import ServiceDouble

SELF = os.geteuid()
USER = pwd.getpwuid(SELF).pw_name
FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def plan(start: Callable[..., Agent], service: ServiceDouble, device: int) -> tuple[Agent, Plan]:
    """A plan whose default entry nobody uses: its tickets are kept for most of a minute."""
    service.pace = 60.0
    service.generations = {USER: FIRST}
    agent = start(service.url, "--plans")
    agent.wait_for("service found")
    with agent.ask(device):
        pass
    plan = Plan(agent.socket, SELF)
    wait_until(lambda: plan.stock(device) > 0, "there are tickets")
    tell(plan, service, device)
    return agent, plan


def tell(plan: Plan, service: ServiceDouble, device: int) -> None:
    """Return when the agent has talked with the service: something ended."""
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, plan_program.NOT_CREATED)
    service.wait_for_end(ticket.placement)
    told = len(service.announcements())
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, plan_program.NOT_CREATED)
    wait_until(lambda: len(service.announcements()) > told, "the answer before was read")


def unused(plan: Plan, device: int) -> Entry:
    entry = plan.entry(device)
    assert entry
    assert entry.stock > 0
    return entry


def test_tickets_of_before_a_change_go_back_unused_and_are_replaced(
    plan: tuple[Agent, Plan], service: ServiceDouble, device: int
) -> None:
    _, tickets = plan
    before = unused(tickets, device)
    service.generations = {USER: SECOND}
    tell(tickets, service, device)

    def others_lie_there() -> bool:
        entry = tickets.entry(device)
        return entry is not None and entry.taken >= before.filled and entry.stock > 0

    wait_until(others_lie_there, "what was dealt is withdrawn and others are dealt")
    ends = [end["reason"] for placement in list(service.placements) for end in service.ended(placement)]
    assert set(ends) == {"unused"}


@pytest.mark.parametrize(
    "generations",
    [{USER: FIRST}, {}, None, {USER: FIRST, "nobody": SECOND}],
    ids=["same", "not-of-this-user", "not-at-all", "another-user"],
)
def test_tickets_stay_when_the_service_says_the_same_or_nothing(
    plan: tuple[Agent, Plan], service: ServiceDouble, device: int, generations: dict[str, str] | None
) -> None:
    agent, tickets = plan
    before = unused(tickets, device)
    service.generations = generations
    tell(tickets, service, device)
    service.generations = {USER: FIRST}  # silence in between changes nothing either
    tell(tickets, service, device)
    assert unused(tickets, device).taken == before.taken
    assert not agent.says("have changed")
