"""A plan that is foreign, stale, damaged or gone is no plan: the agent is asked, and no create fails."""

import errno
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mergerfs_union import NOBODY, Union
from plan_double import (
    ELEMENTS_AT,
    HEARTBEAT_AT,
    NOT_CREATED,
    REPORT_SIZE,
    REPORTS,
    REPORTS_AT,
    RETIRED,
    SIZE,
    STATE_AT,
    TICKETS,
    VERSION,
    PlanDouble,
    key_of,
    now_ms,
)

WRITE = str(os.O_CREAT | os.O_WRONLY)
MAGIC_AT, VERSION_AT, HEAD_SIZE_AT, SIZE_AT, SOCKET_AT = 0, 4, 6, 8, 16


@pytest.fixture
def make_plan(union: Union) -> Iterator[Callable[..., PlanDouble]]:
    """Segments with a default entry for the union and many tickets for its second branch."""
    made: list[PlanDouble] = []

    def make(uid: int = 0, *, tickets: int = 100, **fields: int) -> PlanDouble:
        plan = PlanDouble(union.socket, uid, **fields)
        made.append(plan)
        if fields.get("size", SIZE) < SIZE:
            return plan
        stage, through = union.agent.stages(1, uid)
        element = plan.element("union/b2", stage=str(stage), stage_in_union=str(through))
        plan.entry(0, union.path.stat().st_dev)
        for number in range(tickets):
            plan.ticket(0, 1 + number, element)
        return plan

    yield make
    for plan in made:
        plan.close()


def create(union: Union, probes: Path, count: int = 3) -> None:
    """Files that must all be there afterwards; the agent double would put them on the third branch."""
    union.agent.choose = lambda _: 2
    union.run(probes / "process", "many", str(count), union.path)
    assert all((union.path / f"many-{number}").exists() for number in range(count))
    assert union.agent.leftovers() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"owner": NOBODY},
        {"mode": 0o660},
        {"mode": 0o606},
        {"mode": 0o640},
        {"size": SIZE - 4096},
        {"size": SIZE + 4096},
    ],
)
def test_segment_of_wrong_owner_mode_or_size_is_not_used(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble], fields: dict[str, int]
) -> None:
    plan = make_plan(**fields)
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert fields.get("size", SIZE) < SIZE or plan.stock(0) == 100


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (MAGIC_AT, b"\0\0\0\0"),
        (VERSION_AT, struct.pack("=H", VERSION - 1)),
        (VERSION_AT, struct.pack("=H", VERSION + 1)),
        (HEAD_SIZE_AT, struct.pack("=H", 64)),
        (SIZE_AT, struct.pack("=Q", 4096)),
        (SOCKET_AT, struct.pack("=Q", 1)),
        (STATE_AT, struct.pack("=I", RETIRED)),
        (STATE_AT, struct.pack("=I", 0)),
    ],
)
def test_segment_with_a_wrong_head_is_not_used(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble], at: int, value: bytes
) -> None:
    plan = make_plan()
    plan.write(at, value)
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert plan.stock(0) == 100


@pytest.mark.parametrize("age", [60_000, -60_000, None])
def test_plan_of_an_agent_without_a_sign_of_life_is_not_used(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble], age: int | None
) -> None:
    plan = make_plan()
    plan.stop_beating()
    plan.put64(HEARTBEAT_AT, 0 if age is None else now_ms() - age)
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert plan.stock(0) == 100


def test_segment_that_somebody_else_made_is_not_used(union: Union, probes: Path) -> None:
    """A user cannot lay a plan for root, or for anybody else, though the segment belongs to them now."""
    make = "import ctypes, sys\nlibc = ctypes.CDLL(None)\nstatus = (ctypes.c_uint32 * 64)()\n"
    make += "segment = libc.shmget(int(sys.argv[1]), int(sys.argv[2]), 0o3600)\n"
    make += "libc.shmctl(segment, 2, status)\nstatus[1] = 0\n"
    make += "print(segment if libc.shmctl(segment, 1, status) == 0 else -1)"
    user = (
        "setpriv",
        "--reuid",
        str(NOBODY),
        "--clear-groups",
        "--",
        "/usr/bin/python3",
        "-I",
        "-S",
        "-c",
        make,
    )
    made = subprocess.run(
        [*user, str(key_of(union.socket, 0)), str(SIZE)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    segment = int(made.stdout)
    assert segment >= 0
    try:
        create(union, probes)
        assert len(union.agent.asks) == 3
    finally:
        subprocess.run(["ipcrm", "-m", str(segment)], check=True, timeout=30)


@pytest.mark.parametrize(
    "fault", ["expired", "no-elements", "element-unknown", "no-placement", "stage-elsewhere"]
)
def test_ticket_that_makes_no_sense_is_not_taken(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble], fault: str
) -> None:
    plan = make_plan(tickets=0)
    stage, through = (str(path) for path in union.agent.stages(1, 0))
    good = plan.element("union/b2", stage=stage, stage_in_union=through)
    if fault == "expired":
        plan.ticket(0, 1, good, expires_ms=now_ms() - 100)  # the library reads a coarse clock
    elif fault == "no-elements":
        plan.ticket(0, 1, good, count=0)
    elif fault == "element-unknown":
        plan.ticket(0, 1, 512)
    elif fault == "no-placement":
        plan.ticket(0, 0, good)
    else:
        plan.ticket(0, 1, plan.element("union/b2", stage="/etc", stage_in_union=through))
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert plan.stock(0) == 1
    assert plan.missed(0) == 3
    assert plan.reports() == []


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "EACCES", "ENOSPC", "EDQUOT", "EIO"])
def test_ticket_whose_file_cannot_be_staged_is_reported_and_the_plain_call_made(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble], error: str
) -> None:
    plan = make_plan()
    staged = union.agent.stages(1, 0)[0] / f"{1:016x}"
    strace = ("strace", "-qq", "-o", union.path.parent / "trace", "-P", staged, "-e", "trace=openat")
    command = (*strace, "-e", f"inject=openat:error={error}", probes / "create", "open", WRITE, "0644", "022")
    done = union.run(*command, union.path / "placed").stdout
    assert (union.path.parent / "trace").read_text().count("(INJECTED)") == 1
    plain = union.run(*command[-5:], union.path / "plain", library=False).stdout
    assert done == plain
    assert union.agent.asks == []
    assert union.agent.leftovers() == []
    assert [(report.outcome, report.error) for report in plan.reports()] == [
        (NOT_CREATED, getattr(errno, error))
    ]


def test_without_room_for_a_report_no_ticket_is_taken(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble]
) -> None:
    plan = make_plan()
    for slot in range(REPORTS):
        plan.put64(REPORTS_AT + slot * REPORT_SIZE, 2 * slot + 2)
    create(union, probes)
    assert len(union.agent.asks) == 3
    assert plan.stock(0) == 100


def test_segment_removed_and_replaced_while_in_use_costs_no_create(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble]
) -> None:
    """The program goes on with the one it has until that is retired, then finds the next."""
    first = make_plan(tickets=TICKETS)
    creating = start_creating(union)
    wait_for(lambda: first.stock(0) < TICKETS)
    first.close_key()
    left = first.stock(0)
    wait_for(lambda: first.stock(0) < left or first.stock(0) == 0)
    second = make_plan(tickets=TICKETS)
    first.put32(STATE_AT, RETIRED)
    wait_for(lambda: second.stock(0) < TICKETS)
    stop_creating(creating)


def test_retired_plan_is_left_at_once(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble]
) -> None:
    plan = make_plan(tickets=TICKETS)
    creating = start_creating(union)
    wait_for(lambda: plan.stock(0) < TICKETS)
    plan.put32(STATE_AT, RETIRED)
    asked = len(union.agent.asks)
    wait_for(lambda: len(union.agent.asks) > asked + 1)
    left = plan.stock(0)
    asked = len(union.agent.asks)
    wait_for(lambda: len(union.agent.asks) > asked + 3)
    assert plan.stock(0) == left
    stop_creating(creating)


def test_program_killed_while_it_creates_harms_no_other(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble]
) -> None:
    plan = make_plan(tickets=TICKETS)
    for _ in range(20):
        before = plan.stock(0)
        creating = start_creating(union)
        wait_for(lambda before=before: plan.stock(0) < before)  # type: ignore[misc]
        creating.send_signal(signal.SIGKILL)
        creating.wait(30)
    before = plan.stock(0)
    done = len(plan.reports())
    union.run(probes / "create", "open", WRITE, "0644", "022", union.path / "after")
    assert plan.stock(0) == before - 1
    assert len(plan.reports()) == done + 1
    unfinished = sum(state % 2 for state in plan.slots())
    assert (
        len({report.placement_id for report in plan.reports()})
        == done + 1
        == TICKETS - before + 1 - unfinished
    )


def start_creating(union: Union) -> subprocess.Popen[bytes]:
    """A program that creates files until it is stopped; it ends badly if one cannot be."""
    script = "import itertools, os, signal, sys\n"
    script += "def stop(*_): sys.exit(0)\nsignal.signal(signal.SIGTERM, stop)\n"
    script += "for n in itertools.count():\n"
    script += "    name = f'{os.getpid()}-{n}'\n"
    script += "    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))"
    return subprocess.Popen(
        ["/usr/bin/python3", "-I", "-S", "-c", script], env=union.environment(), cwd=union.path
    )


def stop_creating(creating: subprocess.Popen[bytes]) -> None:
    assert creating.poll() is None
    creating.terminate()
    assert creating.wait(30) == 0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.001)


def test_an_element_changed_by_its_owner_leads_nowhere_else(
    union: Union, probes: Path, make_plan: Callable[..., PlanDouble], tmp_path: Path
) -> None:
    """Whatever a user writes into their plan, the file gets its name or the plain call is made."""
    plan = make_plan()
    elsewhere = tmp_path / "elsewhere/.ses/0"
    elsewhere.mkdir(parents=True)
    plan.write(ELEMENTS_AT + 124, str(elsewhere).encode() + b"\0")
    create(union, probes)
    assert list(elsewhere.iterdir()) == []
    assert [report.outcome for report in plan.reports()] == [2, 2, 2]
