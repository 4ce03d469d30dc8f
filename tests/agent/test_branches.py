"""The agent makes directories on branches of the union and nowhere else, where they stay its own."""

import ctypes
import os
import subprocess
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent, Start

NOBODY = 65534


@pytest.fixture
def refused(start: Start) -> Start:
    """Start an agent that finds no branch it may use."""

    def begin() -> Agent:
        agent = start()
        assert agent.status() == side.UNAVAILABLE
        return agent

    return begin


@pytest.mark.root
def test_directory_that_is_no_branch_of_the_union_is_left_alone(
    refused: Start, service: FakeService, base: Path
) -> None:
    """Whoever can write the knowledge base could otherwise have root make directories anywhere."""
    private = base / "private"
    private.mkdir(mode=0o700)
    os.chown(private, NOBODY, NOBODY)
    for element in service.targets:
        service.targets[element] = private
    agent = refused()
    assert list(private.iterdir()) == []
    agent.wait_for(f"{private} is no branch of the union at {service.mount_point}")


@pytest.mark.root
def test_part_of_a_branch_is_no_branch(
    refused: Start, service: FakeService, branches: dict[str, Path]
) -> None:
    parts = [branch / "data" for branch in branches.values()]
    for element, part in zip(service.targets, parts, strict=True):
        part.mkdir()
        service.targets[element] = part
    refused()
    assert [list(part.iterdir()) for part in parts] == [[], []]


@pytest.mark.root
def test_what_a_user_has_mounted_does_not_say_what_is_a_branch(
    start: Start, service: FakeService, base: Path
) -> None:
    """It is not even asked: nobody answers behind this mount."""
    private, forged = base / "private", base / "forged"
    for path in (private, forged):
        path.mkdir()
    for element in service.targets:
        service.targets[element] = private
    service.mount_point = forged
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id={NOBODY},group_id={NOBODY},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"forged", bytes(forged), b"fuse.mergerfs", 0, options.encode()) == 0
    try:
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        (number,) = [fields[2] for fields in mounts if fields[4] == str(forged)]
        agent = start()
        assert agent.status(device=os.makedev(*map(int, number.split(":")))) == side.UNAVAILABLE
        agent.wait_for(f"{forged} is no mergerfs union that root has mounted here")
        assert list(private.iterdir()) == []
    finally:
        os.close(server)
        subprocess.run(["umount", "-l", forged], check=True)


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o2775, 0o777])
def test_branch_whose_directories_others_can_rename_is_not_used_until_it_is_sticky(
    start: Start, branches: dict[str, Path], mode: int
) -> None:
    for branch in branches.values():
        branch.chmod(mode)
    branches["union/b2"].chmod(mode | 0o1000)
    agent = start()
    with agent.ask() as conversation:
        assert conversation.answer.element == "union/b2"
    agent.wait_for(f"mend it: chmod +t {branches['union/b1']}")
    assert not (branches["union/b1"] / ".ses").exists()


@pytest.mark.root
def test_branch_of_a_person_serves_nobody_else(refused: Start, branches: dict[str, Path]) -> None:
    for branch in branches.values():
        os.chown(branch, 12345, -1)
    refused().wait_for("its owner, uid 12345, could put other directories there; mend it: chown root")


def test_staging_directory_that_was_moved_is_made_again_at_once(
    agent: Agent, branches: dict[str, Path]
) -> None:
    agent.ask().close()
    wait_until(lambda: all((branch / ".ses").exists() for branch in branches.values()), "both are there")
    for branch in branches.values():
        (branch / ".ses").rename(branch / "away")
    wait_until(
        lambda: all((branch / ".ses" / str(os.getuid())).exists() for branch in branches.values()),
        "they are made again, though nobody asks",
    )
