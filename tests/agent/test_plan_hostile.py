"""What a user writes into the own plan harms nobody: not the agent, not other users, not the ledger."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import plan_program
import pytest
from patience import PATIENCE, wait_until
from plan_program import NOBODY, Plan
from running_agent import Agent
from service_double import ServiceDouble

pytestmark = pytest.mark.root

HUGE = (1 << 64) - 1


@pytest.fixture
def planner(start: Callable[..., Agent], service: ServiceDouble) -> Iterator[Agent]:
    """An agent on a node where root and nobody are."""
    with subprocess.Popen(["sleep", "1000"], user=NOBODY, cwd="/") as process:
        agent = start(service.url, "--plans")
        agent.wait_for("service found")
        yield agent
        process.kill()


@pytest.fixture
def hostile(planner: Agent) -> Plan:
    """The plan of nobody."""
    return Plan(planner.socket, NOBODY)


@pytest.fixture
def plan(planner: Agent, device: int) -> Plan:
    """The plan of root, who means well."""
    planner.ask(device).close()
    return Plan(planner.socket, 0)


def check_served(agent: Agent, plan: Plan, service: ServiceDouble, device: int, directory: Path) -> None:
    """Root is served over the socket and by the plan."""
    assert agent.process.poll() is None
    with agent.ask(device) as conversation:
        assert conversation.answer.status == 1
    ticket = plan.take_soon(device, "app")
    path = directory / f"file-{ticket.placement}"
    os.close(plan.create(ticket, path))
    service.wait_for_end(ticket.placement)
    assert service.opened(ticket.placement)[0]["path"] == str(path)


def files_of_nobody(directory: Path, count: int = 1) -> list[os.stat_result]:
    found = []
    for number in range(count):
        path = directory / f"nobody{number}"
        path.touch()
        os.chown(path, NOBODY, NOBODY)
        found.append(path.stat())
    return found


REGIONS = {
    "head": (0, 64),
    "entries": (plan_program.ENTRIES_AT, plan_program.ENTRIES * plan_program.ENTRY_SIZE),
    "elements": (plan_program.ELEMENTS_AT, 32 * plan_program.ELEMENT_SIZE),
    "reports": (plan_program.REPORTS_AT, plan_program.REPORTS * plan_program.REPORT_SIZE),
    "tickets": (plan_program.TICKETS_AT, 8 * plan_program.TICKETS * plan_program.TICKET_SIZE),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("seed", range(2))
def test_rubbish_everywhere_disturbs_nobody_else(
    planner: Agent, hostile: Plan, plan: Plan, service: ServiceDouble, device: int, tmp_path: Path,
    region: str, seed: int,
) -> None:  # fmt: skip
    dice = random.Random(seed)
    begin, size = REGIONS[region]
    for _ in range(60):
        for _ in range(200):
            width = dice.choice((1, 2, 4, 8, min(size, 512)))
            at = begin + dice.randrange(0, size - width + 1) // 8 * 8
            hostile.write(at, dice.choice((dice.randbytes(width), bytes(width), b"\xff" * width)))
        hostile.put64(plan_program.CLAIMED_AT, dice.choice((0, 1, 4096, dice.getrandbits(64), HUGE)))
        time.sleep(0.005)
    check_served(planner, plan, service, device, tmp_path)


@pytest.mark.parametrize(
    "at", [plan_program.TAKEN_IN_ENTRY, plan_program.FILLED_IN_ENTRY, plan_program.MISSED_IN_ENTRY, 0]
)
@pytest.mark.parametrize("value", [0, 1, HUGE, 1 << 63])
def test_counters_that_cannot_be_true_disturb_nobody_else(
    planner: Agent, hostile: Plan, plan: Plan, service: ServiceDouble, device: int, tmp_path: Path,
    at: int, value: int,
) -> None:  # fmt: skip
    wait_until(lambda: hostile.stock(device) > 0, "nobody has a ticket")
    hostile.put64(plan_program.ENTRIES_AT + at, value)
    check_served(planner, plan, service, device, tmp_path)
    bookings = len(service.bookings())
    assert bookings < 1000


def test_report_about_another_users_file_is_not_believed(
    planner: Agent, hostile: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of root")
    ticket = hostile.take_soon(device)
    hostile.report(ticket, status=secret.stat(), path=secret, pid=os.getpid())
    service.wait_for_end(ticket.placement)
    assert service.ended(ticket.placement)[0]["reason"] == "failed"
    assert not service.opened(ticket.placement)


def test_descriptor_of_another_users_process_is_not_looked_at(
    planner: Agent, hostile: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    with (tmp_path / "secret").open("w") as file:
        ticket = hostile.take_soon(device)
        status = os.fstat(file.fileno())
        hostile.report(ticket, status=status, pid=os.getpid(), fd=file.fileno(), path="/no/such/name")
        service.wait_for_end(ticket.placement)
        told = service.opened(ticket.placement)
        assert all(one["path"] == "/no/such/name" and one["pid"] is None for one in told)


def test_report_about_another_users_placement_is_not_believed(
    planner: Agent, hostile: Plan, plan: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    theirs = plan.take_soon(device, "app")
    (status,) = files_of_nobody(tmp_path)
    ticket = hostile.take_soon(device)
    hostile.report(ticket, status=status, placement=int(theirs.placement, 16), path=tmp_path / "nobody0")
    fd = plan.create(theirs, tmp_path / "file")
    wait_until(lambda: service.opened(theirs.placement), "the owner's report counts")
    assert [one["user"] for one in service.opened(theirs.placement)] == ["root"]
    os.close(fd)


def test_ticket_counts_once(
    planner: Agent, hostile: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    statuses = files_of_nobody(tmp_path, 5)
    ticket = hostile.take_soon(device)
    number = int(ticket.placement, 16)
    for file, status in enumerate(statuses):
        slot, state = hostile.claim()
        again = plan_program.Ticket(**{**vars(ticket), "slot": slot, "state": state})
        hostile.report(again, status=status, path=tmp_path / f"nobody{file}", placement=number)
    service.wait_for_end(ticket.placement)
    last = hostile.take_soon(device)
    hostile.report(last, plan_program.NOT_CREATED)
    service.wait_for_end(last.placement)
    assert len({one["inode"] for one in service.opened(ticket.placement)}) == 1


def test_file_on_another_device_is_not_believed(
    planner: Agent, hostile: Plan, service: ServiceDouble, device: int
) -> None:
    ticket = hostile.take_soon(device)
    status = Path("/proc/self/stat").stat()
    hostile.report(ticket, status=status, path="/proc/self/stat")
    service.wait_for_end(ticket.placement)
    assert service.ended(ticket.placement)[0]["reason"] == "failed"


@pytest.mark.parametrize(
    "path", [b"/" + b"\xff\n\x01" * 100, b"../" * 120, b"/proc/self/fd/0", b"\0\0", b"a" * 367]
)
def test_strange_path_is_harmless(
    planner: Agent, hostile: Plan, service: ServiceDouble, device: int, tmp_path: Path, path: bytes
) -> None:
    (status,) = files_of_nobody(tmp_path)
    ticket = hostile.take_soon(device)
    hostile.report(ticket, status=status, path=path, pid=1, application="\x01" * 60)
    service.wait_for_end(ticket.placement)


def test_flood_of_reports_delays_nobody_else(
    planner: Agent, hostile: Plan, plan: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    body = struct.pack("=Q", 12345) + bytes(32) + struct.pack("=I", plan_program.CREATED)
    end = time.monotonic() + 3
    worst = 0.0
    while time.monotonic() < end:
        for _ in range(300):
            slot, state = hostile.claim()
            hostile.write(slot + 8, body)
            hostile.move(slot, state, state + 1)
        begin = time.monotonic()
        check_served(planner, plan, service, device, tmp_path)
        worst = max(worst, time.monotonic() - begin)
    assert worst < PATIENCE / 2


def test_user_who_only_takes_is_dealt_no_more_than_a_plan_holds(
    planner: Agent, hostile: Plan, service: ServiceDouble, device: int
) -> None:
    end = time.monotonic() + 3
    while time.monotonic() < end:
        if (entry := hostile.entry(device)) is not None:
            at = plan_program.ENTRIES_AT + entry.number * plan_program.ENTRY_SIZE
            hostile.put64(at + plan_program.TAKEN_IN_ENTRY, entry.filled)
        time.sleep(0.002)
    assert len(service.placements) < 8 * 1024
