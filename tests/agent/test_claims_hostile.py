"""Claims that lie: they mislead the programs of their own user and nobody else."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from claims_program import NOBODY, Claims, Table, as_user
from fake_service import FakeService
from mounts import let_others_in
from patience import wait_until
from running_agent import Agent, Start


def still_works(claims: Claims, service: FakeService, path: Path) -> None:
    claim = claims.choose()
    fd = claims.create(claim, path)
    wait_until(lambda: service.opened(claims.id_of(claim)), "a good one is reported")
    os.close(fd)


def test_counters_count_no_more_than_there_are_slots(
    claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    slot, state = claims.take_slot()
    claims.put32(Claims.CLAIMED_AT, 1 << 30)
    claims.put32(Claims.CLAIMED_AT + 4, (1 << 32) - 5)
    claims.table.wake()
    wait_until(lambda: claims.table.rows()[0].own > 0 or claims.table.rows()[1].own > 0, "it is looked at")
    assert all(0 <= row.own <= Claims.SLOTS for row in claims.table.rows())
    claims.move(slot, state, 0)
    still_works(claims, service, tmp_path / "file")
    wait_until(lambda: not any(claims.table.own().values()), "what no slot stands for is forgotten")


def test_random_bytes_do_no_harm(agent: Agent, claims: Claims, service: FakeService, tmp_path: Path) -> None:
    dice = random.Random(7)
    for _ in range(60):
        at = dice.randrange(Claims.SIZE - 5000)
        claims.write(at, dice.randbytes(dice.randrange(1, 5000)))
        claims.put64(Claims.NEXT, dice.choice([0, 5, 1 << 40, (1 << 64) - 1, claims.get64(Claims.NEXT) + 3]))
        claims.table.wake()
    claims.write(0, dice.randbytes(4096))
    assert agent.process.poll() is None
    assert {row.element for row in claims.table.rows()} == set(service.targets)
    assert all(0 <= row.own <= 3 * Claims.SLOTS for row in claims.table.rows())


@pytest.mark.parametrize(
    "lie",
    [
        {"rows": (9,)},
        {"rows": (255,)},
        {"rows": (0, 0)},
        {"rows": ()},
        {"system": 3},
        {"system": 77},
        {"epoch": 0},
        {"outcome": 9},
        {"expected_bytes": float("nan")},
        {"expected_bytes": float("inf")},
        {"application": "\x01\x02"},
        {"directory": Path("/etc").stat()},
        {"pid": 1},
        {"fd": 1 << 30},
    ],
    ids=str,
)
def test_claim_that_makes_no_sense_does_no_harm(
    agent: Agent, claims: Claims, service: FakeService, tmp_path: Path, lie: dict[str, object]
) -> None:
    claim = claims.choose()
    os.close(claims.create(claim, tmp_path / "file", **lie))
    still_works(claims, service, tmp_path / "good")
    assert agent.process.poll() is None
    wait_until(lambda: not any(claims.table.own().values()), "nothing is counted any more")


def test_claim_that_makes_no_sense_does_not_stay_counted_beside_a_good_one(
    agent: Agent, claims: Claims, service: FakeService, tmp_path: Path
) -> None:
    """The good one is complete when all other slots have been looked at, and nothing comes after."""
    os.kill(agent.process.pid, signal.SIGSTOP)
    try:
        os.close(claims.create(claims.choose(row=0), tmp_path / "file", system=77))
        good = claims.choose(row=1)
    finally:
        os.kill(agent.process.pid, signal.SIGCONT)
    wait_until(lambda: claims.table.rows()[1].own == 1, "it is counted")
    time.sleep(1.5)  # meanwhile all slots are looked at
    os.close(claims.create(good, tmp_path / "good"))
    wait_until(lambda: service.opened(claims.id_of(good)), "the good one is reported")
    wait_until(lambda: not any(claims.table.own().values()), "nothing is counted any more")


@pytest.mark.root
def test_file_of_another_user_is_not_believed(agent: Agent, service: FakeService, tmp_path: Path) -> None:
    """Root's own file, claimed by another user."""
    victim = tmp_path / "victim"
    victim.write_text("")
    status = victim.stat()
    mine = agent.socket.parent
    let_others_in(mine)
    ids = mine / "told"
    ids.mkdir(mode=0o777)
    ids.chmod(0o777)

    def claim_it() -> None:
        agent.ask().close()
        claims = Claims(agent.socket, NOBODY)
        claims.wait_until_staged()
        claim = claims.choose()
        claims.complete(claim, status=status, path=victim)
        (ids / claims.id_of(claim)).touch()

    as_user(NOBODY, claim_it)
    (placement,) = (path.name for path in ids.iterdir())
    table = Table(agent.socket)
    wait_until(lambda: agent.says("claimed a file that is not its own"), "it is refused")
    wait_until(lambda: not any(table.own().values()), "nothing is counted")
    table.detach()
    assert service.opened(placement) == []


@pytest.mark.root
def test_instance_written_into_the_head_gives_no_ids_of_others(
    start: Start, service: FakeService, tmp_path: Path
) -> None:
    options = ("--socket", str(tmp_path / "agent.sock"), "--state-dir", str(tmp_path / "state"))
    agent = start(*options)
    agent.ask().close()
    claims = Claims(agent.socket, os.getuid())
    claims.wait_until_staged()
    claims.put64(16, 4711)
    agent.process.kill()
    agent.process.wait()
    agent = start(*options)
    wait_until(lambda: claims.get64(16) == claims.instance, "the head says it again")
    claims.put64(16, 4711)
    claims.wait_until_staged()
    still_works(claims, service, tmp_path / "file")
