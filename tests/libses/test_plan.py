"""A create that finds a ticket in the plan: no question to the agent, the file where the ticket says, a report."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mergerfs_union import NOBODY, Union
from plan_double import CREATED, NOT_CREATED, PlanDouble

EEXIST = 17
EXCLUSIVE = str(os.O_CREAT | os.O_EXCL | os.O_WRONLY)
WRITE = str(os.O_CREAT | os.O_WRONLY)


@pytest.fixture
def make_plan(union: Union) -> Iterator[Callable[..., PlanDouble]]:
    """Segments for programs that use the union's agent; removed again whatever happens."""
    made: list[PlanDouble] = []

    def make(uid: int = 0, **fields: int) -> PlanDouble:
        made.append(PlanDouble(union.socket, uid, **fields))
        return made[-1]

    yield make
    for plan in made:
        plan.close()


@pytest.fixture
def plan(union: Union, make_plan: Callable[..., PlanDouble]) -> PlanDouble:
    """The plan of root, with a default entry for the union."""
    plan = make_plan()
    plan.entry(0, union.path.stat().st_dev)
    return plan


def place(union: Union, plan: PlanDouble, branch: int, uid: int = 0) -> int:
    """The place of the branch's element in the plan."""
    stage, through = union.agent.stages(branch, uid)
    return plan.element(f"union/b{branch + 1}", stage=str(stage), stage_in_union=str(through))


@pytest.mark.parametrize("flags", [EXCLUSIVE, WRITE])
@pytest.mark.parametrize("branch", [0, 1, 2])
def test_ticket_puts_the_file_on_its_branch_and_is_reported(
    union: Union, plan: PlanDouble, probes: Path, branch: int, flags: str
) -> None:
    plan.ticket(0, 4711, place(union, plan, branch))
    done = union.run(probes / "create", "open", flags, "0640", "022", union.path / "file")
    assert "fd=3 errno=4321" in done.stdout
    assert "open=0,1,2,3," in done.stdout
    assert union.agent.connections == 0
    assert union.copies(union.path / "file") == [branch]
    status, directory = (union.path / "file").stat(), union.path.stat()
    assert status.st_nlink == 1
    assert status.st_mode & 0o7777 == 0o640
    (report,) = plan.reports()
    assert (report.placement_id, report.outcome, report.error, report.fd) == (4711, CREATED, 0, 3)
    assert (report.device, report.inode) == (status.st_dev, status.st_ino)
    assert (report.directory_device, report.directory_inode) == (directory.st_dev, directory.st_ino)
    assert (report.path, report.dirfd, report.application) == (str(union.path / "file"), -100, "create")
    assert report.pid > 0
    assert plan.stock(0) == 0
    assert plan.missed(0) == 0
    assert union.agent.leftovers() == []
