"""Plans when agents and segments go away and come back: no report is lost, no ticket is dealt twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import plan_program
import program_side as side
import pytest
from patience import wait_until
from plan_program import Plan
from running_agent import Agent
from service_double import ServiceDouble

SELF = os.geteuid()


@pytest.fixture
def begin(start: Callable[..., Agent], service: ServiceDouble, tmp_path: Path) -> Callable[[], Agent]:
    """Start an agent that keeps plans, always on the same socket."""

    def begin() -> Agent:
        agent = start(service.url, "--plans", "--socket", str(tmp_path / "agent.sock"))
        agent.wait_for("service found")
        return agent

    return begin


def plan_after_ask(agent: Agent, device: int) -> Plan:
    with agent.ask(device) as conversation:
        assert conversation.answer.status == side.PLACE
    return Plan(agent.socket, SELF)


def kill(agent: Agent) -> None:
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait()


def test_stopped_agent_removes_the_plan_and_gives_tickets_back(
    begin: Callable[[], Agent], service: ServiceDouble, device: int
) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    wait_until(lambda: plan.stock(device, "app") > 0, "there is a ticket")
    assert agent.stop() == 0
    assert plan.state == plan_program.RETIRED
    assert plan.take(device, "app") is None
    assert plan_program.segment_of(agent.socket, SELF) is None
    assert not service.unended()


def test_stopped_agent_waits_for_a_report_on_its_way(
    begin: Callable[[], Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    ticket = plan.take_soon(device, "app")
    agent.process.send_signal(signal.SIGTERM)
    agent.wait_for("stopping")
    fd = plan.create(ticket, tmp_path / "file")
    assert agent.stop() == 0
    assert [told["path"] for told in service.opened(ticket.placement)] == [str(tmp_path / "file")]
    os.close(fd)


@pytest.mark.parametrize("gone", [signal.SIGTERM, signal.SIGKILL])
def test_report_made_without_an_agent_reaches_the_next(
    begin: Callable[[], Agent], service: ServiceDouble, device: int, tmp_path: Path, gone: signal.Signals
) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    tickets = [plan.take_soon(device, "app") for _ in range(20)]
    agent.process.send_signal(gone)
    agent.process.wait()
    files = {}
    for number, ticket in enumerate(tickets):
        files[ticket.placement] = plan.create(ticket, tmp_path / f"f{number}")
    assert plan_program.segment_of(agent.socket, SELF) == plan.id
    begin()
    wait_until(lambda: all(service.opened(placement) for placement in files), "all files are told")
    assert service.open_now() == files.keys()
    for number, (placement, fd) in enumerate(files.items()):
        assert service.opened(placement)[0]["path"] == str(tmp_path / f"f{number}")
        os.close(fd)
    wait_until(lambda: not service.open_now(), "their ends are told")


def test_next_agent_deals_none_of_the_tickets_it_finds(
    begin: Callable[[], Agent], service: ServiceDouble, device: int
) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    for _ in range(64):
        plan.report(plan.take_soon(device, "app"), plan_program.NOT_CREATED)
    wait_until(lambda: plan.stock(device, "app") > 4, "there is a stock")
    kill(agent)
    before = set(service.placements)
    assert plan.stock(device, "app") > 0
    agent = begin()
    with agent.ask(device) as conversation:
        assert conversation.answer.placement not in before
    for _ in range(20):
        ticket = plan.take_soon(device, "app")
        assert ticket.placement not in before
        plan.report(ticket, plan_program.NOT_CREATED)


def test_counters_never_go_back(begin: Callable[[], Agent], device: int) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    for _ in range(10):
        plan.report(plan.take_soon(device, "app"), plan_program.NOT_CREATED)
    kill(agent)
    before, generation = plan.entry(device, "app"), plan.head()["generation"]
    assert before is not None
    plan_after_ask(begin(), device)
    wait_until(lambda: plan.stock(device, "app") > 0, "there are tickets again")
    # Whatever the entry is about now: a program may hold a number of a ticket in it.
    at = plan_program.ENTRIES_AT + before.number * plan_program.ENTRY_SIZE
    taken = plan.get64(at + plan_program.TAKEN_IN_ENTRY)
    assert taken >= before.filled
    assert plan.head()["generation"] > generation


def test_killed_agents_plan_looks_dead(begin: Callable[[], Agent], device: int) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    first = plan.head()["heartbeat"]
    wait_until(lambda: plan.head()["heartbeat"] > first, "it gives signs of life")
    kill(agent)
    last = plan.head()["heartbeat"]
    again = begin()
    wait_until(lambda: plan.head()["heartbeat"] > last, "the next gives signs of life")
    again.process.send_signal(signal.SIGSTOP)
    try:
        stopped = plan.head()["heartbeat"]
        with pytest.raises(BaseException, match="in vain"):
            wait_until(lambda: plan.head()["heartbeat"] != stopped, "a stopped agent is alive", 1.0)
    finally:
        again.process.send_signal(signal.SIGCONT)


def test_removed_segment_is_replaced_and_its_reports_are_heard(
    begin: Callable[[], Agent], service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    agent = begin()
    plan = plan_after_ask(agent, device)
    ticket = plan.take_soon(device, "app")
    plan_program.remove_segment(plan.id)
    wait_until(lambda: plan.state == plan_program.RETIRED, "programs are told to look elsewhere")
    fd = plan.create(ticket, tmp_path / "file")
    wait_until(lambda: service.opened(ticket.placement), "the file is told")
    os.close(fd)
    other = plan_after_ask(agent, device)
    assert other.id != plan.id
    ticket = other.take_soon(device, "app")
    os.close(other.create(ticket, tmp_path / "other"))
    service.wait_for_end(ticket.placement)


def test_foreign_segment_under_the_key_leaves_programs_asking(
    begin: Callable[[], Agent], device: int, tmp_path: Path
) -> None:
    if SELF != 0:
        pytest.skip("needs root: a segment of another user")
    id = plan_program.make_foreign_segment(tmp_path / "agent.sock", SELF, plan_program.NOBODY)
    try:
        agent = begin()
        for _ in range(3):
            with agent.ask(device) as conversation:
                assert conversation.answer.status == side.PLACE
        agent.wait_for("was made by somebody else")
        assert agent.log.read_text().count("was made by somebody else") == 1
        assert plan_program.segment_of(agent.socket, SELF) == id
    finally:
        plan_program.remove_segment(id)
