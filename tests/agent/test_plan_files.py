"""Plans: which file a report is about is found out, whatever became of the program since."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
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
def plan(start: Callable[..., Agent], service: ServiceDouble, device: int) -> Plan:
    agent = start(service.url, "--plans")
    agent.wait_for("service found")
    with agent.ask(device) as conversation:
        assert conversation.answer.status == side.PLACE
    return Plan(agent.socket, SELF)


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in another directory that has it open as descriptor 7."""
    (tmp_path / "deep/er").mkdir(parents=True)
    command = "exec 7<deep; cd deep; echo; exec sleep 1000"
    with subprocess.Popen(["sh", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


def made(path: Path, size: int = 0) -> os.stat_result:
    """A closed file."""
    path.write_bytes(b"x" * size)
    return path.stat()


def given_out_to_nobody(directory: Path) -> os.stat_result:
    """A file that is gone, whose number cannot become another file's meanwhile."""
    status = list(directory.stat())
    status[stat.ST_INO] = 2**63 - 1
    return os.stat_result(status)


def told(service: ServiceDouble, ticket: plan_program.Ticket) -> tuple[str | None, int | None]:
    """Path and size, once the end is told."""
    service.wait_for_end(ticket.placement)
    (opened,) = service.opened(ticket.placement)
    return opened["path"], service.ended(ticket.placement)[0]["bytes_written"]


def test_closed_file_is_found_by_its_name(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, gone: int
) -> None:
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, status=made(tmp_path / "file", 7), pid=gone, path=tmp_path / "file")
    assert told(service, ticket) == (str(tmp_path / "file"), 7)


def test_relative_name_is_looked_up_where_the_process_is(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, elsewhere: subprocess.Popen[bytes]
) -> None:
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, status=made(tmp_path / "deep/er/file", 3), pid=elsewhere.pid, path="er/file")
    assert told(service, ticket) == (str(tmp_path / "deep/er/file"), 3)


def test_relative_name_is_looked_up_in_the_directory_descriptor(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, elsewhere: subprocess.Popen[bytes]
) -> None:
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, status=made(tmp_path / "deep/file", 3), pid=elsewhere.pid, dirfd=7, path="file")
    assert told(service, ticket) == (str(tmp_path / "deep/file"), 3)


def test_relative_name_of_a_process_that_is_gone_is_looked_up_in_a_directory_known_before(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, gone: int
) -> None:
    directory = tmp_path / "place"
    directory.mkdir()
    for name, path in (("first", directory / "first"), ("second", Path("second"))):
        ticket = plan.take_soon(device, "app")
        status, above = made(directory / name, 5), directory.stat()
        plan.report(ticket, status=status, directory=above, pid=gone, path=path)
        assert told(service, ticket) == (str(directory / name), 5)


def test_file_that_is_gone_is_told_by_what_is_known(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, gone: int
) -> None:
    ticket = plan.take_soon(device, "app")
    plan.report(ticket, status=given_out_to_nobody(tmp_path), pid=gone, path=tmp_path / "file")
    assert told(service, ticket) == (str(tmp_path / "file"), None)


def test_another_file_under_the_name_is_not_taken_for_it(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, gone: int
) -> None:
    ticket = plan.take_soon(device, "app")
    status = made(tmp_path / "file", 7)
    (tmp_path / "file").rename(tmp_path / "moved")
    made(tmp_path / "file", 9)
    plan.report(ticket, status=status, pid=gone, path=tmp_path / "file")
    assert told(service, ticket)[1] is None


def test_file_in_the_hands_of_another_process_stays_open(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, gone: int
) -> None:
    ticket = plan.take_soon(device, "app")
    with (tmp_path / "file").open("wb") as file, subprocess.Popen(["sleep", "1000"], stdout=file) as child:
        status = os.fstat(file.fileno())
        file.close()
        plan.report(ticket, status=status, pid=gone, path=tmp_path / "file")
        wait_until(lambda: service.opened(ticket.placement), "it is told")
        assert service.opened(ticket.placement)[0]["path"] == str(tmp_path / "file")
        assert not service.ended(ticket.placement)
        child.kill()
    service.wait_for_end(ticket.placement)


def test_number_given_out_again_ends_the_file_that_had_it(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    """A file is created once: the first one must be gone, though something under its number is open."""
    first, second = (plan.take_soon(device, "app") for _ in range(2))
    fd = plan.create(first, tmp_path / "file")
    wait_until(lambda: service.opened(first.placement), "it is told")
    plan.report(second, status=os.fstat(fd), fd=fd, path=tmp_path / "file")
    service.wait_for_end(first.placement)
    assert service.opened(second.placement)
    assert not service.ended(second.placement)
    os.close(fd)
    service.wait_for_end(second.placement)


def test_number_given_out_again_is_no_sign_of_the_file_that_had_it(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path, gone: int
) -> None:
    """The process of the first was gone before anybody looked, and the second was told before it."""
    first, second = (plan.take_soon(device, "app") for _ in range(2))
    fd = plan.create(second, tmp_path / "file")
    wait_until(lambda: service.opened(second.placement), "it is told")
    plan.report(first, status=os.fstat(fd), pid=gone, path=tmp_path / "file")
    service.wait_for_end(first.placement)
    assert not service.ended(second.placement)
    os.close(fd)
    service.wait_for_end(second.placement)


def test_renamed_file_is_found_through_the_descriptor(
    plan: Plan, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    ticket = plan.take_soon(device, "app")
    with (tmp_path / "file").open("wb") as file:
        (tmp_path / "file").rename(tmp_path / "moved")
        status = os.fstat(file.fileno())
        plan.report(ticket, status=status, fd=-1, path=tmp_path / "file")
        wait_until(lambda: service.opened(ticket.placement), "it is told")
        assert service.opened(ticket.placement)[0]["path"] == str(tmp_path / "moved")
        assert not service.ended(ticket.placement)
