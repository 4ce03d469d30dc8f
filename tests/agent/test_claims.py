"""Claims: counted for everybody on the node at once, followed until the file is closed, explained."""

from __future__ import annotations

import errno
import os
import pwd
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from claims_program import NOT_CREATED, Claims, Table, owner_of
from fake_service import FakeService
from patience import PATIENCE, moves, wait_until
from program_side import CURRENT_WRITE, Requirement
from running_agent import Agent

KEPT_EPOCHS = 64  # of a table, by the agent
TICK, IN_A_ROW = 0.005, 16  # seconds between looks of the agent, and looks that programs wake before that
AWAKE = 0.02  # seconds for which the agent looks by itself after a claim, at least
RESTS = 2.5  # seconds in which nothing moved in a file that may be no stream any more

_ONE_USER = """
import select, sys, pathlib, os
sys.path[:0] = [sys.argv[1], os.path.dirname(sys.argv[1])]
from claims_program import Claims
number, uid = int(sys.argv[2]), int(sys.argv[5])
socket, directory = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
os.chdir(socket.parent); os.setgid(uid); os.setuid(uid)
claims = Claims(socket, uid)
claims.wait_until_staged()
print("ready", flush=True)
sys.stdin.readline()
claim = claims.choose()
fd = claims.create(claim, directory / f"f{number}")
print(claim.element, flush=True)
while not select.select([sys.stdin], [], [], 0.1)[0]:
    os.pwrite(fd, b"x", 0)  # a file in which nothing moves is no stream
"""


@pytest.fixture
def numbers() -> range:
    """Eight alike."""
    return range(8)


@pytest.mark.root
def test_eight_users_who_write_at_once_go_to_eight_elements(
    agent: Agent, service: FakeService, device: int, open_way: Path
) -> None:
    directory = open_way / "shared"
    directory.mkdir(mode=0o777)
    directory.chmod(0o777)
    uids = range(20001, 20009)
    programs = []
    try:
        for number, uid in enumerate(uids):
            arguments = [Path(__file__).parent, number, agent.socket, directory, uid]
            programs.append(
                subprocess.Popen(
                    [sys.executable, "-c", _ONE_USER, *map(str, arguments)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
        for program in programs:
            assert program.stdout
            assert program.stdout.readline() == "ready\n"
        table = Table(agent.socket)
        for number, program in enumerate(programs):  # each as soon as the one before is shown
            assert program.stdin
            program.stdin.write("go\n")
            program.stdin.flush()
            wait_until(lambda count=number + 1: sum(table.own().values()) >= count, "the claim is shown")
        table.detach()
        chosen = Counter(program.stdout.readline().strip() for program in programs if program.stdout)
        assert len(chosen) == 8, chosen
        wait_until(lambda: len(service.open_now()) == 8, "the service heard of all")
    finally:
        for program in programs:
            program.communicate("end\n", timeout=PATIENCE)
        for path in directory.iterdir():
            path.unlink()
        directory.rmdir()


def test_claim_is_shown_to_everybody_before_the_file_is_there(claims: Claims) -> None:
    claim = claims.choose(row=3)
    wait_until(lambda: claims.table.rows()[3].own == 1, "it is counted")
    wait_until(lambda: claims.open_claims()[3] == 0, "it does not count twice")
    wait_until(lambda: claims.table.system()["streams"] == 1, "it is one of this node's")
    claims.complete(claim, NOT_CREATED)
    wait_until(lambda: claims.table.system()["streams"] == 0, "none of them is left")


def test_agent_awake_for_one_claim_is_woken_by_the_next(claims: Claims) -> None:
    """Programs of other users see a claim only after the agent has looked at it."""

    times = 0

    def was_often_woken() -> bool:
        nonlocal times
        claim = claims.choose()
        made, woken_again = time.monotonic(), False
        while not woken_again and time.monotonic() - made < AWAKE / 2:
            is_counted = claims.open_claims()[claim.row] == 0
            woken_again = is_counted and claims.table.get32(Table.ASLEEP) == 1
        claims.complete(claim, NOT_CREATED)
        wait_until(lambda: claims.table.system()["streams"] == 0, "it is counted off")
        times += woken_again
        return times == 10

    wait_until(was_often_woken, "the agent is awake and lets itself be woken")


def test_who_wakes_the_agent_for_nothing_makes_it_look_once_a_tick(claims: Claims) -> None:
    """Any program can attach the word that wakes it."""
    began = time.monotonic()
    woken = sum(claims.table.wake() for _ in range(200_000))
    elapsed = time.monotonic() - began
    assert 0 < woken <= 2 * (IN_A_ROW + elapsed / TICK)


def test_claims_one_after_the_other_go_round(claims: Claims, tmp_path: Path) -> None:
    files = []
    for number in range(8):
        claim = claims.choose()
        files.append(claims.create(claim, tmp_path / f"f{number}"))
    wait_until(lambda: moves(*files) and set(claims.table.own().values()) == {1.0}, "one lies on each")
    for fd in files:
        os.close(fd)


@pytest.mark.parametrize("error", [errno.EEXIST, errno.ENOSPC])
def test_create_that_failed_is_counted_off_and_not_told(
    claims: Claims, service: FakeService, error: int
) -> None:
    claim = claims.choose(row=2)
    wait_until(lambda: claims.table.rows()[2].own == 1, "it is counted")
    claims.complete(claim, NOT_CREATED, error=error)
    wait_until(lambda: claims.table.rows()[2].own == 0, "it is counted off")
    assert service.opened(claims.id_of(claim)) == []


def test_file_is_told_with_its_decision_and_followed_to_its_end(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    claim = claims.choose(row=5)
    path = tmp_path / "file"
    fd = claims.create(claim, path, application="simulate", expected_bytes=1e9)
    placement = claims.id_of(claim)
    wait_until(lambda: service.opened(placement), "the service heard of it")
    (reported,) = service.opened(placement)
    assert (reported["path"], reported["application"], reported["inode"]) == (
        str(path),
        "simulate",
        str(path.stat().st_ino),
    )
    restore = service.restored(placement)[0]
    assert (restore["element"], restore["decided_by"], restore["expected_bytes"]) == (
        "union/b5",
        "program",
        10**9,
    )
    mine, decision = service.decided[placement]
    assert (mine["batch_number"], mine["batch_size"]) == (1, 1)
    assert mine["predicted"]["write"] == 200e6
    assert decision["candidates"][0]["element"] == "union/b5"
    assert (decision["system"], decision["offline"], decision["expected_from"]) == ("union", False, "request")
    wait_until(lambda: moves(fd) and claims.table.rows()[5].own == 1, "it is counted once, by whoever counts")
    os.write(fd, b"12345")
    os.close(fd)
    service.wait_for_end(placement)
    assert service.ended(placement) == [{"reason": "closed", "bytes_written": 5}]
    wait_until(lambda: claims.table.rows()[5].own == 0, "it is counted off")


def test_files_from_one_epoch_share_a_decision(claims: Claims, service: FakeService, tmp_path: Path) -> None:
    made = [claims.choose(row=row) for row in (1, 2, 3)]
    files = [
        claims.create(claim, tmp_path / f"f{number}", epoch=made[0].epoch)
        for number, claim in enumerate(made)
    ]
    ids = [claims.id_of(claim) for claim in made]
    wait_until(lambda: all(id in service.decided for id in ids), "all are told")
    for fd in files:
        os.close(fd)
    places = {(service.decided[id][0]["batch_number"], service.decided[id][0]["batch_size"]) for id in ids}
    together = len({request.at for request in service.announcements() if request.body["opened"]}) == 1
    assert places == {(1, 3), (2, 3), (3, 3)} or not together
    assert {service.decided[id][1]["candidates"][0]["element"] for id in ids} <= {
        "union/b1",
        "union/b2",
        "union/b3",
    }


def test_closed_file_counts_no_more_before_and_after_the_service_knows(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    claim, begun = claims.choose(row=1), time.monotonic()
    fd = claims.create(claim, tmp_path / "file")
    wait_until(lambda: service.opened(claims.id_of(claim)), "the service heard of it")
    assert claims.table.rows()[1].own == 1 or time.monotonic() - begun > RESTS
    service.kill()
    os.close(fd)
    wait_until(lambda: claims.table.rows()[1].own == 0, "it has ended")
    wait_until(lambda: claims.table.system()["streams"] == 0, "nor is it one of this node's")
    service.revive()
    wait_until(lambda: service.ended(claims.id_of(claim)), "the service heard of its end")
    assert claims.table.rows()[1].own == 0


def test_known_and_foreign_files_add_up(claims: Claims, service: FakeService, tmp_path: Path) -> None:
    """What the service counts and what it has not heard of: neither is lost or counted twice."""
    service.loads["union/b4"] = {"own": 7}  # of other nodes, whatever is told here
    files = [claims.create(claims.choose(row=row), tmp_path / f"f{row}") for row in (0, 1)]
    wait_until(lambda: claims.table.own()["union/b4"] == 7, "the others are there")
    for element in ("union/b0", "union/b1"):
        wait_until(lambda element=element: moves(*files) and claims.table.own()[element] == 1, "each is")
    for fd in files:
        os.close(fd)
    wait_until(lambda: claims.table.own()["union/b1"] == 0, "none is")


def test_program_killed_after_its_choice_is_counted_off_when_it_is_quiet(
    claims: Claims, tmp_path: Path
) -> None:
    claim = claims.choose(row=6)
    wait_until(lambda: claims.table.rows()[6].own == 1, "it is counted")
    claims.move(claim.slot, claim.state, 0)  # what the agent does after minutes
    os.close(claims.create(claims.choose(row=0), tmp_path / "file"))
    wait_until(lambda: claims.table.rows()[6].own == 0, "it is counted off")


def test_choice_from_an_earlier_epoch_is_explained(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    for row in range(1, 8):
        element = f"union/b{row}"
        wait_until(lambda: not any(claims.table.own().values()), "no file of the round before counts")
        claim = claims.choose(row=row)
        service.loads[element] = {"busy": 0.5, "foreign": 0.5}
        another = claims.choose(row=0)
        os.close(claims.create(another, tmp_path / f"busy{row}"))
        reported = claims.id_of(another)  # files reported together share what is said of the first
        wait_until(lambda id=reported: service.restored(id), "another file is reported")
        wait_until(lambda row=row: claims.table.rows()[row].foreign == 0.5, "the element is busy now")
        fd = claims.create(claim, tmp_path / f"file{row}")
        placement = claims.id_of(claim)
        wait_until(lambda id=placement: service.restored(id), "it is told")
        os.close(fd)
        now = claims.table.system()["epoch"]
        assert now > claim.epoch, "the table is another one"
        if placement in service.decided:
            break
        assert now - claim.epoch >= KEPT_EPOCHS, "it is not explained"  # else the machine was slow
    wrote = {
        candidate["element"]: candidate["write"] for candidate in service.decided[placement][1]["candidates"]
    }
    assert wrote[element] == 200e6 / (1 + claim.seen[row]), "as it was"


def test_needs_that_change_change_the_entries(
    start: Callable[..., Agent], service: FakeService, device: int
) -> None:
    def need(bound: float, application: str | None) -> dict[str, object]:
        requirement = {
            **{"kind": "current-write-rate", "code": 3, "bound": bound, "weight": 1.0, "hard": False},
            **{"at_most": False, "unit": "MB/s", "size": 1e6, "level": "user", "level_name": "x"},
        }
        return {
            **{"application": application, "requirements": [requirement], "room_bytes": 5e9},
            "expected_from": "history",
        }

    user = "root" if os.getuid() == 0 else os.environ.get("USER", "")
    service.needs[user] = ("g1", [need(50e6, None)])
    agent = start(service.url)
    agent.wait_for("service found")
    agent.ask(device).close()
    claims = Claims(agent.socket, os.getuid())
    wait_until(lambda: claims.needs(), "needs are there")
    (entry,) = claims.needs()
    assert (entry.room, entry.requirements) == (5e9, ((3, 0, 0, 50e6, 1.0),))
    before = claims.get64(claims.GENERATION)
    service.needs[user] = ("g2", [need(80e6, None), need(10e6, "tar")])
    wait_until(lambda: len(claims.needs()) == 2, "the other one is there")
    general, tar = claims.needs()
    assert general.requirements[0][3] == 80e6
    assert (tar.requirements[0][3], tar.digest != general.digest) == (10e6, True)
    assert claims.get64(claims.GENERATION) > before


def test_a_requirement_that_a_program_stated_is_told_as_its_own_though_the_user_stored_the_same(
    start: Callable[..., Agent], service: FakeService, device: int, tmp_path: Path
) -> None:
    """By a claim and by asking; what the program did not state is the user's."""
    asked = {"kind": "current-write-rate", "code": 3, "bound": 50e6, "weight": 1.0, "hard": False}
    stored = {"at_most": False, "unit": "MB/s", "size": 1e6, "level": "user", "level_name": "x"}
    need = {"application": None, "requirements": [asked | stored], "room_bytes": None, "expected_from": None}
    service.needs[pwd.getpwuid(os.getuid()).pw_name] = ("g1", [need])
    agent = start(service.url)
    agent.wait_for("service found")
    conversation = agent.ask(device, requirements=(Requirement(CURRENT_WRITE, 50.0),))
    conversation.create(tmp_path / "asked")
    claims = Claims(agent.socket, os.getuid())
    wait_until(lambda: claims.needs(), "needs are there")
    claims.wait_until_staged()
    (entry,) = claims.needs()
    (requirement,) = entry.requirements
    levels = {conversation.answer.placement: "explicit"}
    for stated, level in ((1, "explicit"), (0, "user")):
        claim = claims.choose()
        details = {"requirement": requirement, "digest": entry.digest, "stated": stated}
        os.close(claims.create(claim, tmp_path / f"claimed{stated}", **details))
        levels[claims.id_of(claim)] = level
    for placement, level in levels.items():
        wait_until(lambda id=placement: id in service.decided, "it is told")
        (reported,) = service.decided[placement][1]["requirements"]
        assert (reported["bound"], reported["level"]) == (50e6, level)


def test_delta_changes_its_rows_and_no_others(claims: Claims, service: FakeService, tmp_path: Path) -> None:
    service.loads["union/b7"] = {"busy": 0.25, "foreign": 0.25, "free": 1e9}
    os.close(claims.create(claims.choose(row=0), tmp_path / "file"))
    wait_until(lambda: claims.table.rows()[7].foreign == 0.25, "one row has changed")
    assert {row.foreign for row in claims.table.rows()[:7]} == {0.0}
    assert service.announcements()[-1].body["tables"][0]["revision"] == "r1"


def test_an_element_judged_without_a_sample_is_told_without_its_age(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    service.loads["union/b7"] = {"busy": None, "busy_average": None, "reserved": 1e6, "age": 90.0}
    os.close(claims.create(claims.choose(row=0), tmp_path / "before"))
    wait_until(lambda: claims.table.rows()[7].reserved == 1e6, "the sample does not count any more")
    claim = claims.choose(row=7)
    os.close(claims.create(claim, tmp_path / "file"))
    wait_until(lambda: claims.id_of(claim) in service.decided, "it is told")
    _, decision = service.decided[claims.id_of(claim)]
    ages = {candidate["element"]: candidate["age"] for candidate in decision["candidates"]}
    assert ages.pop("union/b7") is None
    assert ages
    assert all(age >= 0.5 for age in ages.values())


def test_other_elements_take_the_files_along(claims: Claims, service: FakeService, tmp_path: Path) -> None:
    fd = claims.create(claims.choose(row=5), tmp_path / "file")
    wait_until(lambda: moves(fd) and claims.table.own()["union/b5"] == 1, "it is counted")
    moved = time.monotonic()
    del service.targets["union/b2"]
    service.revision = "r2"
    os.close(claims.create(claims.choose(row=0), tmp_path / "other"))
    wait_until(lambda: len(claims.table.rows()) == 7, "there is one less")
    assert claims.table.own()["union/b5"] == 1 or time.monotonic() - moved > RESTS
    wait_until(lambda: moves(fd) and claims.table.own()["union/b5"] == 1, "it is counted as before")
    os.close(fd)
    wait_until(lambda: claims.table.own()["union/b5"] == 0, "it is counted off")


def test_busy_node_says_so(claims: Claims, service: FakeService) -> None:
    wait_until(lambda: service.announcements()[-1].body["busy"], "the service is told that programs run here")
    wait_until(lambda: service.announcements()[-1].body["in_use"], "and that they began")


def test_node_hears_often_while_files_are_created(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    def silent_words() -> int:
        return sum(
            not announcement.body["opened"] and not announcement.body["ended"]
            for announcement in service.announcements()[said:]
        )

    service.pace = 300.0
    service.later = {"report_within_seconds": 1.0}
    said = len(service.announcements())
    wait_until(lambda: silent_words() > 0, "the agent knows the new pace")
    fd = claims.create(claims.choose(), tmp_path / "file")
    said = len(service.announcements())
    wait_until(lambda: silent_words() >= 3, "it hears without having anything to tell")
    os.close(fd)


@pytest.mark.root
def test_segment_belongs_to_its_user_alone(agent: Agent, device: int, claims: Claims) -> None:
    assert owner_of(claims.id) == (os.getuid(), os.getuid(), 0o600)
    assert owner_of(claims.table.id) == (os.getuid(), os.getuid(), 0o644)
    assert claims.get64(16) == claims.instance


def test_table_is_the_nodes(agent: Agent, claims: Claims, device: int) -> None:
    table = Table(agent.socket)
    system, _ = table.mounts()[device]
    assert [row.element for row in table.rows(system)] == [f"union/b{number}" for number in range(8)]
    assert table.get32(table.STATE) == 1
    table.detach()
