"""Claims when agents and segments go away and come back: no file is lost, none counts twice."""

import os
import signal
import time
from pathlib import Path

import claims_program
import program_side as side
import pytest
from claims_program import NOBODY, NOT_CREATED, Claims, Table, make_foreign_segment, owner_of, segment_of
from fake_service import FakeService
from patience import SOON, wait_until
from running_agent import Agent, Start

SELF = os.geteuid()


@pytest.fixture
def begin(start: Start, tmp_path: Path) -> Start:
    """Start an agent, always on the same socket and with the same state."""

    def begin() -> Agent:
        socket, state = str(tmp_path / "agent.sock"), str(tmp_path / "state")
        return start("--socket", socket, "--state-dir", state)

    return begin


def claims_after_ask(agent: Agent) -> Claims:
    assert agent.status() == side.PLACE
    claims = Claims(agent.socket, SELF)
    claims.wait_until_staged()
    return claims


def kill(agent: Agent) -> None:
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait()


def test_stopped_agent_removes_table_and_claims(begin: Start) -> None:
    agent = begin()
    claims = claims_after_ask(agent)
    assert agent.stop() == 0
    assert claims.state == claims_program.RETIRED
    assert claims.table.get32(Table.STATE) == claims_program.RETIRED
    assert claims.table.get32(Table.ASLEEP) == 0, "there is nobody to wake"
    assert segment_of(agent.socket) is None


def test_stopped_agent_waits_for_a_create_on_its_way(
    begin: Start, service: FakeService, tmp_path: Path
) -> None:
    """For a second; a machine that stands still so long tries again."""
    for path in (tmp_path / f"file{number}" for number in range(10)):
        agent = begin()
        claims = claims_after_ask(agent)
        claim = claims.choose()
        wait_until(lambda table=claims.table: sum(table.own().values()) == 1, "it is counted")  # type: ignore[misc]
        begun = time.monotonic()
        agent.process.send_signal(signal.SIGTERM)
        agent.wait_for("stopping")
        fd = claims.create(claim, path)
        was_soon = time.monotonic() - begun < SOON
        assert agent.stop() == 0
        os.close(fd)
        if was_soon:
            break
    assert [opened["path"] for opened in service.opened(claims.id_of(claim))] == [str(path)]


@pytest.mark.parametrize("gone", [signal.SIGTERM, signal.SIGKILL])
def test_file_made_without_an_agent_reaches_the_next(
    begin: Start, service: FakeService, tmp_path: Path, gone: signal.Signals
) -> None:
    agent = begin()
    claims = claims_after_ask(agent)
    made = [claims.choose() for _ in range(20)]
    wait_until(lambda: sum(claims.table.own().values()) == 20, "all are counted")
    agent.process.send_signal(gone)
    agent.process.wait()
    files = {
        claims.id_of(claim): claims.create(claim, tmp_path / f"f{number}")
        for number, claim in enumerate(made)
    }
    assert segment_of(agent.socket) == claims.table.id
    begin()
    wait_until(lambda: all(service.opened(placement) for placement in files), "all files are reported")
    assert service.open_now() == files.keys()
    for number, (placement, fd) in enumerate(files.items()):
        assert service.opened(placement)[0]["path"] == str(tmp_path / f"f{number}")
        os.close(fd)
    wait_until(lambda: not service.open_now(), "their ends are reported")
    wait_until(lambda: not any(claims.table.own().values()), "nothing is counted any more")


def test_programs_keep_their_segments_over_a_killed_agent(
    begin: Start, service: FakeService, tmp_path: Path
) -> None:
    agent = begin()
    claims = claims_after_ask(agent)
    claim = claims.choose()
    os.close(claims.create(claim, tmp_path / "before"))
    service.wait_for_end(claims.id_of(claim))
    table, segment, epoch = claims.table.id, claims.id, claims.table.system()["epoch"]
    kill(agent)
    begin()
    wait_until(lambda: claims.table.system()["epoch"] > epoch, "the table is published again")
    assert segment_of(agent.socket) == table
    assert claims.table.users()[SELF] == (segment, claims.instance)
    claims.wait_until_staged()
    claim = claims.choose()
    fd = claims.create(claim, tmp_path / "after")
    wait_until(lambda: service.opened(claims.id_of(claim)), "it is reported")
    os.close(fd)


def test_removed_segment_is_replaced(begin: Start) -> None:
    agent = begin()
    claims = claims_after_ask(agent)
    claims_program.remove_segment(claims.id)
    wait_until(lambda: claims.table.users().get(SELF, (claims.id, 0))[0] != claims.id, "there is another one")
    again = Claims(agent.socket, SELF)
    assert again.instance != claims.instance


def test_claims_unfinished_when_the_agent_died_are_no_streams_for_ever(begin: Start) -> None:
    agent = begin()
    claims = claims_after_ask(agent)
    claim = claims.choose(row=1)
    wait_until(lambda: claims.table.rows()[1].own == 1, "it is counted")
    kill(agent)
    begin()
    claims.complete(claim, NOT_CREATED)
    wait_until(lambda: list(claims.table.own().values()) == [0, 0], "nothing is counted")
    assert claims.open_claims() == [0, 0]


@pytest.mark.root
def test_root_replaces_a_segment_that_somebody_else_put_there(begin: Start, tmp_path: Path) -> None:
    foreign = make_foreign_segment(tmp_path / "agent.sock", NOBODY)
    agent = begin()
    claims = claims_after_ask(agent)
    assert claims.table.id != foreign
    assert owner_of(claims.table.id) == (0, 0, 0o644)
    os.close(claims.create(claims.choose(), tmp_path / "file"))
