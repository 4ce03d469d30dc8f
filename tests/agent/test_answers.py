"""What a program that asks is answered, and what the service hears of it."""

import errno
import json
import os
import pwd
import stat
import subprocess
import sys
import time
from pathlib import Path

import program_side as side
import pytest
from claims_program import Table
from fake_service import FakeService
from mounts import unmount
from patience import wait_until
from program_side import Requirement
from ran import ran
from running_agent import Agent, Start

NOBODY = 65534


def test_program_is_sent_to_an_element_of_the_system(
    agent: Agent, service: FakeService, branches: dict[str, Path]
) -> None:
    with agent.ask() as conversation:
        answer = conversation.answer
    assert answer.status == side.PLACE
    assert answer.backend == side.MERGERFS
    assert answer.element in service.targets
    assert answer.distance == 0.0, "nothing is needed"
    assert answer.stage == branches[answer.element] / ".ses" / str(os.getuid())
    assert answer.stage_in_union == service.mount_point / ".ses" / str(os.getuid())


def test_stage_belongs_to_the_caller_alone(agent: Agent, branches: dict[str, Path]) -> None:
    with agent.ask() as conversation:
        stage = conversation.answer.stage
    for path, mode in ((stage.parent, 0o755), (stage, 0o744)):
        status = path.lstat()
        assert stat.S_ISDIR(status.st_mode)
        assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.getuid(), mode)


@pytest.mark.root
def test_stage_of_another_user_belongs_to_that_user(agent: Agent, service: FakeService) -> None:
    answer = as_nobody(agent)
    assert answer["status"] == str(side.PLACE)
    status = os.lstat(answer["stage"])
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY, 0o744)
    assert answer["stage"].endswith(f"/.ses/{NOBODY}")
    assert any(
        pwd.getpwuid(NOBODY).pw_name in announcement.body["users"] for announcement in service.announcements()
    )


def test_unknown_device_is_not_managed(agent: Agent) -> None:
    assert agent.status(device=os.makedev(4000, 7)) == side.NOT_MANAGED


def test_the_report_says_what_a_file_was_placed_for(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    requirements = (
        Requirement(side.CURRENT_READ, 50.0, hard=True),
        Requirement(side.AVERAGE_WRITE, 400.0, weight=2.0),
        Requirement(side.CAPACITY, 1.5),
    )
    conversation = agent.ask("simulate", expected_bytes=10**9, requirements=requirements)
    assert conversation.answer.distance > 0, "no element writes as fast"
    placement = conversation.answer.placement
    conversation.create(tmp_path / "file")
    wait_until(lambda: placement in service.decided, "it is reported")
    mine, decision = service.decided[placement]
    assert [
        (requirement["kind"], requirement["bound"], requirement["hard"], requirement["weight"])
        for requirement in decision["requirements"]
    ] == [
        ("current-read-rate", 50e6, True, 1.0),
        ("average-write-rate", 400e6, False, 2.0),
        ("free-capacity", 1.5e9, False, 1.0),
    ]
    assert {requirement["level"] for requirement in decision["requirements"]} == {"explicit"}
    assert (decision["expected_bytes"], decision["expected_from"]) == (10**9, "request")
    assert decision["candidates"][0]["element"] == conversation.answer.element
    assert decision["candidates"][0]["distance"] == pytest.approx(conversation.answer.distance)
    assert (mine["batch_number"], mine["batch_size"], mine["predicted"]["write"]) == (1, 1, 200e6)
    (reported,) = service.opened(placement)
    assert reported["application"] == "simulate"
    assert service.restored(placement)[0]["decided_by"] == "agent"


def test_own_requirements_go_before_those_of_the_user_kind_by_kind(
    start: Start, service: FakeService, tmp_path: Path
) -> None:
    def entry(kind: str, code: int, bound: float) -> dict[str, object]:
        return {
            **{"kind": kind, "code": code, "bound": bound, "weight": 1.0, "hard": False, "at_most": False},
            **{"unit": "MB/s", "size": 1e6, "level": "user", "level_name": "x", "profile": None},
        }

    requirements = [entry("current-read-rate", 1, 10e6), entry("current-write-rate", 3, 20e6)]
    need = {"application": None, "requirements": requirements, "room_bytes": None, "expected_from": None}
    service.needs[pwd.getpwuid(os.getuid()).pw_name] = ("g1", [need])
    agent = start()
    conversation = agent.ask(requirements=(Requirement(side.CURRENT_WRITE, 30.0),))
    conversation.create(tmp_path / "file")
    placement = conversation.answer.placement
    wait_until(lambda: placement in service.decided, "it is reported")
    decision = service.decided[placement][1]
    assert {
        (requirement["kind"], requirement["bound"], requirement["level"])
        for requirement in decision["requirements"]
    } == {("current-write-rate", 30e6, "explicit"), ("current-read-rate", 10e6, "user")}
    assert decision["user_needs"] == "g1"


def test_a_program_that_names_no_application_has_none(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    conversation = agent.ask("")
    conversation.create(tmp_path / "file")
    wait_until(lambda: service.opened(conversation.answer.placement), "it is reported")
    assert service.opened(conversation.answer.placement)[0]["application"] is None


def test_name_that_is_not_text_does_not_break_the_question(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    message = side.ask_message(agent.device, "nonsense").replace(b"nonsense", b"\xff\xfe\x01\nfo\x80a")
    conversation = side.Conversation(agent.socket, message)
    assert conversation.answer.status == side.PLACE
    conversation.create(tmp_path / "file")
    wait_until(lambda: service.opened(conversation.answer.placement), "it is reported")
    assert "\n" not in service.opened(conversation.answer.placement)[0]["application"]


def test_stripe_hint_of_the_program_wins(agent: Agent) -> None:
    with agent.ask(stripe_count=4, stripe_size=1 << 20) as conversation:
        assert (conversation.answer.stripe_count, conversation.answer.stripe_size) == (4, 1 << 20)
    with agent.ask() as conversation:
        assert (conversation.answer.stripe_count, conversation.answer.stripe_size) == (0, 0)


def test_questions_are_answered_without_the_service(agent: Agent, service: FakeService) -> None:
    service.pace = 0.5
    agent.ask().close()
    before, begun = len(service.requests), time.monotonic()
    given = []
    for _ in range(300):
        with agent.ask() as conversation:
            assert conversation.answer.status == side.PLACE
            given.append(conversation.answer.placement)
    assert len(set(given)) == 300
    seconds = time.monotonic() - begun
    assert len(service.requests) - before < 30 + seconds / service.pace * 4, "signs of life, and no more"


def test_files_of_questions_go_round(agent: Agent) -> None:
    asked = [agent.ask() for _ in range(8)]
    elements = [conversation.answer.element for conversation in asked]
    assert elements.count("union/b1") == elements.count("union/b2") == 4
    for conversation in asked:
        conversation.close()


@pytest.mark.parametrize("error", [None, 0, errno.EEXIST, errno.ENOSPC])
def test_place_that_was_not_used_is_counted_off_and_not_reported(
    agent: Agent, service: FakeService, error: int | None
) -> None:
    table = Table(agent.socket)
    with agent.ask() as conversation:
        placement = conversation.answer.placement
        wait_until(lambda: sum(table.own().values()) == 1, "it is counted")
        if error is not None:
            conversation.report(side.NOT_CREATED, error=error)
    wait_until(lambda: sum(table.own().values()) == 0, "it is counted off")
    table.detach()
    assert service.opened(placement) == []


def test_system_without_room_is_unavailable(start: Start, service: FakeService) -> None:
    for element in service.targets:
        service.loads[element] = {"free": 0.0}
    agent = start()
    assert agent.status() == side.UNAVAILABLE
    assert not agent.says("lost") or agent.was_kept_waiting(), "a full system is no fault of the service"
    service.loads.clear()

    wait_until(agent.places, "there is room again")


def test_element_without_its_directory_is_left_out(start: Start, branches: dict[str, Path]) -> None:
    branches["union/b1"].rmdir()
    agent = start()

    def placed_on() -> str:
        with agent.ask() as conversation:
            return conversation.answer.element

    assert {placed_on() for _ in range(10)} == {"union/b2"}
    assert agent.says("union/b1 takes no file: cannot be looked at: No such file")


def test_staging_directory_that_went_is_made_again(agent: Agent, branches: dict[str, Path]) -> None:
    with agent.ask() as conversation:
        stage = conversation.answer.stage
        stage.rmdir()
        conversation.report(side.NOT_CREATED, error=errno.ENOENT)
    wait_until(stage.exists, "it is there again")


@pytest.mark.root
def test_storage_is_managed_only_while_it_is_mounted(
    start: Start, service: FakeService, base: Path, branches: dict[str, Path]
) -> None:
    mount_point = base / "later"
    mount_point.mkdir()
    service.mount_point = mount_point
    agent = start()
    assert agent.status(device=mount_point.stat().st_dev) == side.NOT_MANAGED, (
        "the file system below is not ours"
    )
    subprocess.run(["mergerfs", ":".join(map(str, branches.values())), mount_point], check=True)
    try:
        agent.wait_for("storage system union is mounted")
        assert agent.status(device=mount_point.stat().st_dev) == side.PLACE
    finally:
        unmount(mount_point)
    agent.wait_for("storage system union is no longer mounted")


def as_nobody(agent: Agent) -> dict[str, str]:
    """Ask as uid 65534, in a process of its own; returns status and stage.

    From the socket's own directory: pytest closes the ones above to other users.
    """
    script = (
        "import json, os, pathlib, sys\n"
        "sys.path[:0] = [sys.argv[1], os.path.dirname(sys.argv[1])]\n"
        "import program_side as side\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "message = side.ask_message(int(sys.argv[3]), 'app')\n"
        "with side.Conversation(pathlib.Path(sys.argv[2]), message) as conversation:\n"
        "    answer = conversation.answer\n"
        "print(json.dumps({'status': answer.status, 'stage': str(answer.stage)}))\n"
    )
    done = ran(
        [sys.executable, "-c", script, Path(__file__).parent, agent.socket.name, str(agent.device)],
        cwd=agent.socket.parent,
    )
    return {name: str(value) for name, value in json.loads(done.stdout).items()}
