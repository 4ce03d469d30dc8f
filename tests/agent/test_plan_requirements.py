"""Needs that a program states itself: tickets made for others are not dealt for them."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from patience import wait_until
from plan_program import Plan, fnv1a
from program_side import CAPACITY, CURRENT_WRITE, PLACE, Wish
from running_agent import Agent
from service_double import ServiceDouble

pytestmark = pytest.mark.root

FAST = (Wish(CURRENT_WRITE, 300.0),)
LARGE = (Wish(CURRENT_WRITE, 300.0), Wish(CAPACITY, 2000.0, hard=True))
SETS = {"plain": (), "fast": FAST, "large": LARGE}


@pytest.fixture
def planner(start: Callable[..., Agent], service: ServiceDouble) -> Agent:
    agent = start(service.url, "--plans")
    agent.wait_for("service found")
    return agent


def about(application: str, wishes: tuple[Wish, ...]) -> int:
    """As ses_plan_about()."""
    bytes_ = b"".join(struct.pack("=IIdd", one.kind, one.hard, one.minimum, one.weight) for one in wishes)
    return fnv1a(application, bytes_)


def plan_of(planner: Agent) -> Plan:
    """The plan, in which the entries of "app" are called as in SETS."""
    plan = Plan(planner.socket)
    plan.stated = {about("app", wishes): name for name, wishes in SETS.items()}
    return plan


def booked_for(service: ServiceDouble, placement: str) -> list[float]:
    """The minimums in the question that `placement` was the answer to."""
    return [one["minimum"] for one in service.booked_as[placement]["requirements"]]


def stated_in(wishes: tuple[Wish, ...]) -> list[float]:
    return [wish.minimum for wish in wishes]


def test_set_that_was_asked_for_has_tickets_ahead(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    for wishes in SETS.values():
        with planner.ask(device, wishes=wishes) as conversation:
            assert conversation.answer.status == PLACE
    plan = plan_of(planner)
    for name, wishes in SETS.items():
        ticket = plan.take_soon(device, name)
        assert booked_for(service, ticket.placement) == stated_in(wishes)
        assert service.placements[ticket.placement] == ticket.elements[0]


def test_question_gets_no_ticket_made_for_other_needs(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    with planner.ask(device):
        pass
    plan = plan_of(planner)
    wait_until(lambda: plan.stock(device, "plain") > 0, "the application has tickets")
    for wishes in (FAST, LARGE, FAST, ()):
        with planner.ask(device, wishes=wishes) as conversation:
            assert booked_for(service, conversation.answer.placement) == stated_in(wishes)


def test_question_with_a_size_gets_no_ticket_made_without(
    planner: Agent, service: ServiceDouble, device: int
) -> None:
    with planner.ask(device):
        pass
    plan = plan_of(planner)
    wait_until(lambda: plan.stock(device, "plain") > 0, "the application has tickets")
    with planner.ask(device, expected_bytes=1 << 40) as conversation:
        assert service.booked_as[conversation.answer.placement]["expected_bytes"] == 1 << 40
