"""What a program that asks is told, and what the service is asked on its behalf."""

from __future__ import annotations

import errno
import json
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import program_side as side
import pytest
from patience import PATIENCE, wait_until
from program_side import Wish
from running_agent import Agent
from service_double import Answer, Request, ServiceDouble, as_usual, problem

NOBODY = 65534


def test_program_is_sent_to_the_element_the_service_named(
    agent: Agent, service: ServiceDouble, device: int, branches: dict[str, Path]
) -> None:
    with agent.ask(device) as conversation:
        answer = conversation.answer
    assert answer.status == side.PLACE
    assert answer.backend == side.MERGERFS
    assert service.placements[answer.placement] == answer.element
    assert answer.distance == 0.25
    assert answer.stage == branches[answer.element] / ".ses" / str(os.getuid())
    assert answer.stage_in_union == service.mount_point / ".ses" / str(os.getuid())


def test_stage_belongs_to_the_caller_alone(agent: Agent, device: int, branches: dict[str, Path]) -> None:
    with agent.ask(device) as conversation:
        stage = conversation.answer.stage
    for path, mode in ((stage.parent, 0o711), (stage, 0o700)):
        status = path.lstat()
        assert stat.S_ISDIR(status.st_mode)
        assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.getuid(), mode)


@pytest.mark.root
def test_stage_of_another_user_belongs_to_that_user(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    told = as_nobody(agent, device)
    assert told["status"] == str(side.PLACE)
    status = os.lstat(told["stage"])
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY, 0o700)
    assert told["stage"].endswith(f"/.ses/{NOBODY}")
    assert service.bookings()[0].body["subject"]["user"] == pwd.getpwuid(NOBODY).pw_name


def test_unknown_device_is_not_managed_and_costs_the_service_nothing(
    agent: Agent, service: ServiceDouble
) -> None:
    with agent.ask(os.makedev(4000, 7)) as conversation:
        assert conversation.answer.status == side.NOT_MANAGED
    assert service.bookings() == []


def stated(kind: str, minimum: float, unit: str, weight: float = 1.0, strictness: str = "soft") -> object:
    return {"kind": kind, "minimum": minimum, "unit": unit, "weight": weight, "strictness": strictness}


def test_service_is_told_who_asks_and_for_what(agent: Agent, service: ServiceDouble, device: int) -> None:
    wishes = (
        Wish(side.CURRENT_READ, 50.0, hard=True),
        Wish(side.AVERAGE_WRITE, 20.5, weight=2.0),
        Wish(side.CAPACITY, 1.5),
    )
    agent.ask(device, "simulate", expected_bytes=10**9, wishes=wishes).close()
    body = service.bookings()[0].body
    assert body == {
        "subject": {"user": pwd.getpwuid(os.getuid()).pw_name, "application": "simulate", "node": "n1"},
        "storage_system": "union",
        "requirements": [
            stated("current-read-rate", 50.0, "MB/s", strictness="hard"),
            stated("average-write-rate", 20.5, "MB/s", weight=2.0),
            stated("free-capacity", 1.5, "GB"),
        ],
        "expected_bytes": 10**9,
        "exclude": [],
        "count": 1,
        "lease_seconds": 30,
    }


def test_application_is_the_process_name_when_the_program_gives_none(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    agent.ask(device, "").close()
    name = Path("/proc/self/comm").read_text().strip()
    assert service.bookings()[0].body["subject"]["application"] == name


def test_name_that_is_not_text_does_not_break_the_question(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    message = side.ask_message(device, "nonsense").replace(b"nonsense", b"\xff\xfe\x01\nfo\x80a")
    with side.Conversation(agent.socket, message) as conversation:
        assert conversation.answer.status == side.PLACE
    assert "\n" not in service.bookings()[0].body["subject"]["application"]


def test_stripe_hint_of_the_program_wins(agent: Agent, device: int) -> None:
    with agent.ask(device, stripe_count=4, stripe_size=1 << 20) as conversation:
        assert (conversation.answer.stripe_count, conversation.answer.stripe_size) == (4, 1 << 20)
    with agent.ask(device) as conversation:
        assert (conversation.answer.stripe_count, conversation.answer.stripe_size) == (1, 0)


def test_thousand_questions_get_distinct_placements_for_few_requests(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    dealt = []
    for _ in range(1000):
        with agent.ask(device) as conversation:
            dealt.append(conversation.answer.placement)
    assert len(set(dealt)) == 1000
    assert set(dealt) <= set(service.placements)
    counts = [request.body["count"] for request in service.bookings()]
    assert counts[0] == 1, "the first question books for itself only"
    assert max(counts) <= 64
    assert len(counts) < 200


def test_first_of_many_is_followed_by_growing_batches(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    for _ in range(16):
        agent.ask(device).close()
    counts = [request.body["count"] for request in service.bookings()]
    assert counts[:4] == [1, 2, 4, 8]


def test_unused_placements_go_back(agent: Agent, service: ServiceDouble, device: int) -> None:
    used = [agent.ask(device) for _ in range(10)]
    for conversation in used:
        conversation.close()
    wait_until(lambda: not service.unended(), "every placement is ended")
    reasons = {service.ended(placement)[0]["reason"] for placement in service.placements}
    assert reasons == {"unused"}


def test_decision_is_made_anew_after_the_tickets_went_back(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    for _ in range(2):
        agent.ask(device).close()
    wait_until(lambda: not service.unended(), "every placement is ended")
    before = len(service.bookings())
    agent.ask(device).close()
    assert len(service.bookings()) == before + 1


@pytest.mark.parametrize(
    "other",
    [
        {"application": "b"},
        {"expected_bytes": 5},
        {"wishes": (Wish(side.CURRENT_READ, 1.0),)},
    ],
    ids=["application", "expected-bytes", "requirements"],
)
def test_tickets_are_dealt_only_to_the_question_they_were_booked_for(
    agent: Agent, service: ServiceDouble, device: int, other: dict[str, object]
) -> None:
    for _ in range(2):  # the second booking leaves one ticket
        agent.ask(device, "a").close()
    before = len(service.bookings())
    arguments = {"application": "a", **other}
    agent.ask(device, **arguments).close()  # type: ignore[arg-type]
    assert len(service.bookings()) == before + 1


@pytest.mark.root
def test_tickets_of_one_user_are_not_dealt_to_another(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    for _ in range(2):
        agent.ask(device, "a").close()
    told = as_nobody(agent, device, "a")
    assert service.bookings()[-1].body["subject"]["user"] == pwd.getpwuid(NOBODY).pw_name
    assert told["stage"].endswith(f"/{NOBODY}")


def test_placement_nobody_reports_is_ended_as_unused(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    with agent.ask(device) as conversation:
        placement = conversation.answer.placement
    wait_until(lambda: service.ended(placement), "the placement is ended")
    assert service.ended(placement) == [{"reason": "unused", "bytes_written": None}]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(errno.EEXIST, "unused"), (0, "unused"), (errno.ENOSPC, "failed"), (errno.EROFS, "failed")],
)
def test_create_that_failed_is_told_apart_from_one_not_needed(
    agent: Agent, service: ServiceDouble, device: int, error: int, reason: str
) -> None:
    with agent.ask(device) as conversation:
        placement = conversation.answer.placement
        conversation.report(side.NOT_CREATED, error=error)
    wait_until(lambda: service.ended(placement), "the placement is ended")
    assert service.ended(placement)[0]["reason"] == reason


def test_no_element_left_is_unavailable_and_not_asked_again_at_once(
    agent: Agent, service: ServiceDouble, device: int
) -> None:
    def full(request: Request) -> Answer | None:
        return problem(409, "no-element", "all are full") if request.path == "/v1/placements" else None

    service.instead = full
    for _ in range(20):
        with agent.ask(device) as conversation:
            assert conversation.answer.status == side.UNAVAILABLE
    assert len(service.bookings()) < 20
    assert not agent.says("lost"), "a full system is no fault of the service"
    service.instead = as_usual

    def placed() -> bool:
        with agent.ask(device) as conversation:
            return conversation.answer.status == side.PLACE

    wait_until(placed, "there is room again")


def test_element_without_its_directory_is_left_out(
    agent: Agent, service: ServiceDouble, device: int, branches: dict[str, Path]
) -> None:
    branches["union/b1"].rmdir()

    def placed_on() -> str:
        with agent.ask(device) as conversation:
            return conversation.answer.element

    wait_until(lambda: placed_on() == "union/b2", "the other element is used")
    assert {placed_on() for _ in range(10)} == {"union/b2"}
    assert agent.says("element union/b1 is not used")
    broken = [placement for placement, element in service.placements.items() if element == "union/b1"]
    wait_until(lambda: all(service.ended(placement) for placement in broken), "they are ended")
    assert {service.ended(placement)[0]["reason"] for placement in broken} == {"failed"}


@pytest.mark.root
def test_storage_is_managed_only_while_it_is_mounted(
    start: Callable[..., Agent], service: ServiceDouble, tmp_path: Path
) -> None:
    mount_point = tmp_path / "union"
    mount_point.mkdir()
    service.mount_point = mount_point
    agent = start(service.url)
    agent.wait_for("service found")
    with agent.ask(mount_point.stat().st_dev) as conversation:
        assert conversation.answer.status == side.NOT_MANAGED, "the file system below is not ours"
    subprocess.run(["mount", "-t", "tmpfs", "none", mount_point], check=True)
    try:
        agent.wait_for("storage system union is mounted")
        with agent.ask(mount_point.stat().st_dev) as conversation:
            assert conversation.answer.status == side.PLACE
    finally:
        subprocess.run(["umount", mount_point], check=True)
    agent.wait_for("storage system union is no longer mounted")


def as_nobody(agent: Agent, device: int, application: str = "app") -> dict[str, str]:
    """Ask as uid 65534, in a process of its own; returns status and stage.

    From the socket's own directory: pytest closes the ones above to other users.
    """
    script = (
        "import json, os, pathlib, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import program_side as side\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "message = side.ask_message(int(sys.argv[3]), sys.argv[4])\n"
        "with side.Conversation(pathlib.Path(sys.argv[2]), message) as conversation:\n"
        "    answer = conversation.answer\n"
        "print(json.dumps({'status': answer.status, 'stage': str(answer.stage)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, Path(__file__).parent, agent.socket.name, str(device), application],
        cwd=agent.socket.parent, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {name: str(value) for name, value in json.loads(done.stdout).items()}
