"""SES_REQUIRE: what a run needs goes along with every question, and takes only tickets made for it."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from mergerfs_union import Union
from plan_double import PlanDouble

WRITE = str(os.O_CREAT | os.O_WRONLY)
READ_RATE, AVERAGE_READ_RATE, WRITE_RATE, AVERAGE_WRITE_RATE, CAPACITY = range(1, 6)
STATED = (WRITE_RATE, False, 300.0, 1.0)


@pytest.fixture
def plan(union: Union) -> Iterator[PlanDouble]:
    """The plan of root, with a default entry that has a ticket for the first branch."""
    plan = PlanDouble(union.socket)
    plan.entry(0, union.path.stat().st_dev)
    plan.ticket(0, 4711, place(union, plan, 0))
    yield plan
    plan.close()


def place(union: Union, plan: PlanDouble, branch: int) -> int:
    stage, through = union.agent.stages(branch, 0)
    return plan.element(f"union/b{branch + 1}", stage=str(stage), stage_in_union=str(through))


def wire(*requirements: tuple[int, bool, float, float]) -> bytes:
    return b"".join(struct.pack("=IIdd", *one) for one in requirements)


def create(union: Union, probes: Path, name: str = "file", **extra: str) -> None:
    done = union.run(probes / "create", "open", WRITE, "0640", "022", union.path / name, **extra)
    assert "fd=3 errno=4321" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("write>=300MB/s", [(WRITE_RATE, False, 300.0)]),
        ("write>=300MB/s free>=2TB", [(WRITE_RATE, False, 300.0), (CAPACITY, False, 2000.0)]),
        ("free>=2TB!,write>=300MB/s", [(WRITE_RATE, False, 300.0), (CAPACITY, True, 2000.0)]),
        ("read>=1.5GiB/s", [(READ_RATE, False, 1610.612736)]),
        (" average-read>=20kB/s!  ", [(AVERAGE_READ_RATE, True, 0.02)]),
        ("average-write>=1TiB/s", [(AVERAGE_WRITE_RATE, False, 1099511.627776)]),
        ("free>=512MiB", [(CAPACITY, False, 0.536870912)]),
    ],
)
def test_requirements_go_along_with_the_question(
    union: Union, probes: Path, text: str, asked: list[tuple[int, bool, float]]
) -> None:
    create(union, probes, SES_REQUIRE=text)
    (ask,) = union.agent.asks
    assert [one[:3] for one in ask.requirements] == [(k, h, pytest.approx(m)) for k, h, m in asked]
    assert {one[3] for one in ask.requirements} == {1.0}


@pytest.mark.parametrize(
    "text",
    [
        *("write", "write>300MB/s", "write>=MB/s", "write>=300", "write>=300MB", "free>=2TB/s", "iops>=5"),
        *("write>=-3MB/s", "write>=3.MB/s", "write>=.3MB/s", "write>=1e3MB/s", "write>=300mb/s", "%n%s"),
        *("write>=300MB/s write>=3MB/s", "write>=300MB/s;free>=2TB", "write>=300MB/sfree>=2TB", "   "),
        *("write>=1234567890123456MB/s", "write>=300MB/s!!", "write >= 300MB/s", "x" * 5000),
    ],
)
def test_what_is_not_understood_is_ignored_as_a_whole_and_said_once(
    union: Union, probes: Path, plan: PlanDouble, tmp_path: Path, text: str
) -> None:
    log = tmp_path / "log"
    create(union, probes, SES_REQUIRE=text, SES_LOG=str(log))
    assert plan.stock(0) == 0, "the plain run takes the ticket of its default entry"
    assert union.agent.asks == []
    assert log.read_text().count("SES_REQUIRE is ignored") == 1


def test_tickets_made_for_other_needs_are_left_alone(union: Union, probes: Path, plan: PlanDouble) -> None:
    plan.entry(1, union.path.stat().st_dev, "create")
    plan.ticket(1, 4712, place(union, plan, 0))
    plan.entry(2, union.path.stat().st_dev, "create", stated=wire((WRITE_RATE, False, 301.0, 1.0)))
    plan.ticket(2, 4713, place(union, plan, 0))
    union.agent.choose = lambda _: 2
    create(union, probes, SES_REQUIRE="write>=300MB/s")
    assert [plan.stock(number) for number in range(3)] == [1, 1, 1]
    assert [ask.requirements for ask in union.agent.asks] == [(STATED,)]
    assert union.copies(union.path / "file") == [2]


def test_tickets_made_for_these_needs_are_taken(union: Union, probes: Path, plan: PlanDouble) -> None:
    stated = wire(STATED, (CAPACITY, True, 2000.0, 1.0))
    plan.entry(1, union.path.stat().st_dev, "create", stated=stated)
    plan.ticket(1, 4712, place(union, plan, 1))
    create(union, probes, SES_REQUIRE="free>=2TB! write>=300MB/s")
    assert union.agent.connections == 0
    assert [plan.stock(number) for number in range(2)] == [1, 0]
    assert union.copies(union.path / "file") == [1]


def test_run_without_needs_leaves_their_tickets_alone(union: Union, probes: Path, plan: PlanDouble) -> None:
    plan.entry(1, union.path.stat().st_dev, "create", stated=wire(STATED))
    plan.ticket(1, 4712, place(union, plan, 1))
    create(union, probes)
    assert [plan.stock(number) for number in range(2)] == [0, 1]
