"""Where an administrator lets no file go, none goes: modes, reserves and options of a real union.

Read while the union is mounted, since all of them can be changed then.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import program_side as side
import pytest
from claims_program import Table
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent, Start
from ses_client.mounts import file_system_at
from ses_client.unions import hold_back

pytestmark = pytest.mark.root


@pytest.fixture
def table(agent: Agent) -> Iterator[Table]:
    """The candidate table, once every branch takes files."""
    agent.ask().close()
    attached = Table(agent.socket)
    wait_until(lambda: attached.rows() and not any(row.excluded for row in attached.rows()), "all take files")
    yield attached
    attached.detach()


def excluded(table: Table) -> set[str]:
    return {row.element for row in table.rows() if row.excluded}


def set_option(union: Path, name: str, value: str) -> None:
    os.setxattr(union / ".mergerfs", f"user.mergerfs.{name}", value.encode())


def restaged(agent: Agent, branch: Path) -> bool:
    with agent.ask() as conversation:
        return conversation.answer.status == side.PLACE and conversation.answer.stage.is_relative_to(branch)


@pytest.mark.parametrize("mode", ["NC", "RO"])
def test_a_branch_that_is_being_retired_takes_no_file_until_it_is_back(
    agent: Agent, table: Table, union: Path, branches: dict[str, Path], mode: str
) -> None:
    first, second = branches.values()
    set_option(union, "branches", f"{first}={mode}:{second}=RW")
    wait_until(lambda: excluded(table) == {"union/b1"}, "the retired branch is left out")
    agent.wait_for(f"union/b1 takes no file: its mode in the union is {mode}")
    set_option(union, "branches", f"{first}=RW:{second}=RW")
    wait_until(lambda: excluded(table) == set(), "it takes files again")


def test_a_branch_taken_out_of_the_union_takes_no_file(
    table: Table, agent: Agent, union: Path, branches: dict[str, Path]
) -> None:
    set_option(union, "branches", f"-{branches['union/b1']}")
    wait_until(lambda: excluded(table) == {"union/b1"}, "it is left out")
    agent.wait_for("no branch of the union at")


def test_what_minfreespace_keeps_is_not_spent(
    table: Table, agent: Agent, union: Path, branches: dict[str, Path]
) -> None:
    first, second = branches.values()
    set_option(union, "branches", f"{first}=RW,999T:{second}=RW")
    wait_until(lambda: excluded(table) == {"union/b1"}, "the branch's own reserve is kept")
    set_option(union, "branches", f"{first}=RW:{second}=RW")
    wait_until(lambda: excluded(table) == set(), "it takes files again")
    set_option(union, "minfreespace", "999T")
    wait_until(lambda: excluded(table) == set(branches), "the union's reserve is kept")
    agent.wait_for("union/b2 takes no file: less is free than the union's minfreespace keeps")


def test_a_branch_that_is_held_back_from_the_unions_own_choice_takes_placed_files(
    table: Table, agent: Agent, union: Path, branches: dict[str, Path]
) -> None:
    first, second = branches.values()
    set_option(union, "branches", hold_back(f"{first}=RW,1K:{second}=RO", {str(first)}))
    wait_until(lambda: excluded(table) == {"union/b2"}, "the one that is read-only is left out")
    assert restaged(agent, first)
    set_option(union, "branches", hold_back(f"{first}=RW,999T:{second}=RW", {str(first)}))
    wait_until(lambda: excluded(table) == {"union/b1"}, "its own reserve is kept")


def test_a_branch_without_inodes_takes_no_file(table: Table, union: Path, branches: dict[str, Path]) -> None:
    first = branches["union/b1"]
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "nr_inodes=64,mode=755", "none", first], check=True, timeout=60
    )
    try:
        made = 0
        while os.statvfs(first).f_favail > 0:
            (first / f"file-{made}").touch()
            made += 1
        wait_until(lambda: excluded(table) == {"union/b1"}, "it is left out")
        (first / "file-0").unlink()
        wait_until(lambda: excluded(table) == set(), "it takes files again")
    finally:
        subprocess.run(["umount", "-l", first], check=True, timeout=60)


class TestLinkCow:
    """The second name of a file that is being made would have mergerfs copy it at its first open."""

    @pytest.fixture
    def union_options(self) -> str:
        return "use_ino,link_cow=true"

    def test_nothing_is_placed(self, agent: Agent, service: FakeService) -> None:
        agent.wait_for("mounted with link_cow")
        assert agent.status() == side.UNAVAILABLE
        assert service.open_now() == set()


class TestWithoutAttributes:
    """Mounted with xattr=nosys, the kernel lets nobody ask the union from the first refusal on."""

    @pytest.fixture
    def union_options(self) -> str:
        return "use_ino,xattr=nosys"

    def test_the_option_is_named(self, start: Start, union: Path) -> None:
        with pytest.raises(OSError, match="supported"):
            os.getxattr(union, "user.anything")
        agent = start(until="mounted with xattr=nosys")
        assert agent.status() == side.UNAVAILABLE


@pytest.fixture
def disk(base: Path, branches: dict[str, Path], service: FakeService) -> Iterator[Path]:
    """The image of an ext4 of its own on the first branch, which is described as that."""
    image = base / "disk.img"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True, timeout=60)
    mount_disk(image, branches["union/b1"])
    service.facts = {"union/b1": {"file_system": file_system_at(branches["union/b1"])}}
    yield image
    subprocess.run(["umount", "-l", branches["union/b1"]], check=False, capture_output=True, timeout=60)


def mount_disk(image: Path, where: Path) -> None:
    subprocess.run(["mount", "-o", "loop", image, where], check=True, timeout=60)
    where.chmod(0o1777)


class TestNotMounted:
    """What was described is a disk; the empty directory where it belongs is the root disk's."""

    def test_nothing_is_made_where_a_disk_is_missing_until_it_is_back(
        self, start: Start, branches: dict[str, Path],
        disk: Path,
    ) -> None:  # fmt: skip
        first = branches["union/b1"]
        subprocess.run(["umount", first], check=True, timeout=60)
        agent = start(until="union/b1 takes no file: not the file system that was described")
        with agent.ask() as conversation:
            assert conversation.answer.element == "union/b2"
        table = Table(agent.socket)
        assert excluded(table) == {"union/b1"}
        mount_disk(disk, first)
        wait_until(lambda: excluded(table) == set(), "it takes files again")
        subprocess.run(["umount", "-l", first], check=True, timeout=60)
        wait_until(lambda: excluded(table) == {"union/b1"}, "it is left out while the agent runs")
        with agent.ask() as conversation:
            assert conversation.answer.element == "union/b2"
        assert list(first.iterdir()) == []
        table.detach()
