"""What is left of a ledger: real processes that are killed, disks that fill, databases that go and come."""

import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mounts
import pytest
from announcing_node import AT_ONCE, Node, carried, check_of, options, placements
from patience import wait_until
from service_process import Running
from ses_service.store.database import Database, sqlite_url
from written_here import stored_in


def in_database(url: str) -> dict[str, str]:
    database = Database(url)
    try:
        return {placement.placement_id: placement.state.value for placement in stored_in(database)}
    finally:
        database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_in_a_storm_nothing_acknowledged_is_lost_and_nothing_counts_twice(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    own = [] if kind == "sqlite" else [f"--database-url={request.getfixturevalue('empty').url}"]

    def begun() -> Running:
        service = Running(tmp_path, *options(*own)).wait_ready()
        wait_until(lambda: check_of(service, "database")["ok"])
        return service

    nodes = [Node("n1"), Node("n2")]
    for wanted in (3, 6, 9):
        service = begun()
        storms = [threading.Thread(target=node.storm, args=(service,)) for node in nodes]
        for storm in storms:
            storm.start()
        try:
            wait_until(lambda wanted=wanted: all(node.answers >= wanted for node in nodes))
        finally:
            service.end(signal.SIGKILL)
            for storm in storms:
                storm.join()
    service = begun()
    try:
        is_open, is_ended = placements(service, "open"), placements(service, "ended")
        assert len(is_open) == len(set(is_open))
        assert not set(is_open) & set(is_ended)
        wait_until(lambda: carried(service) == len(is_open))
        for node in nodes:
            node.settle(service)
        is_open, is_ended = placements(service, "open"), placements(service, "ended")
        assert len(is_open) == len(set(is_open))
        for node in nodes:
            assert node.ended <= set(is_ended)
            assert node.open <= {*is_open, *is_ended}, "what it ended last was perhaps not answered"
    finally:
        service.end()


@contextmanager
def hanging(tmp_path: Path, server: Any) -> Iterator[None]:
    """Let the database take nothing: that of a server, or SQLite's, which somebody else writes."""
    if server is not None:
        with server.hanging():
            yield
        return
    other = sqlite3.connect(tmp_path / "state" / "ledger.db", isolation_level=None)
    other.execute("begin exclusive")
    yield
    other.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_was_answered_while_the_database_hung_is_said_again(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Everything dies before it is stored; the node was told what is stored, and has kept the rest."""
    server = None if kind == "sqlite" else request.getfixturevalue("empty")
    own = [] if server is None else [f"--database-url={server.url}"]
    service = Running(tmp_path, *options(*own)).wait_ready()
    node = Node("n1")
    try:
        wait_until(lambda: check_of(service, "database")["ok"])
        node.announce(service, node.begin(), [])
        node.settle(service)
        with hanging(tmp_path, server):
            for _ in range(3):
                node.announce(service, node.begin(), sorted(node.open)[: AT_ONCE // 2])
            service.end(signal.SIGKILL)
    finally:
        service.end(signal.SIGKILL)
    service = Running(tmp_path, *options(*own)).wait_ready()
    try:
        wait_until(lambda: check_of(service, "database")["ok"])
        node.settle(service)
        assert set(placements(service, "open")) == node.open
        assert set(placements(service, "ended")) == node.ended
    finally:
        service.end()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own that holds 64 MiB."""
    with mounts.small_disk(tmp_path / "state", 64) as folder:
        yield folder


def fill(path: Path) -> None:
    """Write until nothing fits any more."""
    with path.open("wb", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


def test_a_full_disk_takes_memory_over_a_restart_and_nothing_else(tmp_path: Path, small_disk: Path) -> None:
    service = Running(tmp_path, *options()).wait_ready()
    node = Node("n1")
    try:
        node.announce(service, node.begin(), [])
        fill(small_disk / "ballast")

        def storing_fails() -> bool:
            node.announce(service, node.begin(), sorted(node.open)[: AT_ONCE // 2])
            return not check_of(service, "database")["ok"]

        wait_until(storing_fails)
        assert "full" in check_of(service, "database")["detail"]
        assert service.call("GET", "/readyz")[0] == 200
        notes = service.call("POST", "/v1/selections", {"subject": {"user": "alice"}})[1]["notes"]
        assert any("memory only" in note for note in notes)
        metrics = service.http.request("GET", f"http://127.0.0.1:{service.port}/metrics").data.decode()
        assert "ses_database_up 0.0" in metrics
        assert node.open <= set(placements(service, "open")), "the ledger in memory goes on"
        (small_disk / "ballast").unlink()
        wait_until(lambda: check_of(service, "database")["ok"])
        node.settle(service)
    finally:
        service.end(signal.SIGKILL)
    stored = in_database(sqlite_url(small_disk / "ledger.db"))
    assert {placement for placement, state in stored.items() if state == "open"} == node.open
    assert {placement for placement, state in stored.items() if state == "ended"} == node.ended


def test_postgresql_may_end_and_come_back(tmp_path: Path, empty: Any) -> None:
    service = Running(tmp_path, *options(f"--database-url={empty.url}")).wait_ready()
    node = Node("n1")
    try:
        node.announce(service, node.begin(), [])
        wait_until(lambda: set(in_database(empty.url)) == node.open)
        empty.stop()
        node.announce(service, node.begin(), sorted(node.open)[: AT_ONCE // 2])
        wait_until(lambda: not check_of(service, "database")["ok"])
        wait_until(lambda: "failed" in check_of(service, "other-services")["detail"])
        node.announce(service, node.begin(), sorted(node.open)[: AT_ONCE // 2])
        empty.start()
        node.settle(service)
        wait_until(lambda: bool(check_of(service, "other-services")["ok"]))
        assert "Traceback" not in service.log.read_text()
        service.end(signal.SIGKILL)
        service = Running(tmp_path, *options(f"--database-url={empty.url}")).wait_ready()
        wait_until(lambda: check_of(service, "database")["ok"])
        assert set(placements(service, "open")) == node.open
        assert set(placements(service, "ended")) == node.ended
    finally:
        service.end()


def test_postgresql_that_hangs_is_said_to_be_away_and_gets_what_it_missed(tmp_path: Path, empty: Any) -> None:
    service = Running(tmp_path, *options(f"--database-url={empty.url}")).wait_ready()
    node = Node("n1")
    try:
        node.announce(service, node.begin(), [])
        wait_until(lambda: set(in_database(empty.url)) == node.open)
        with empty.hanging():
            node.announce(service, node.begin(), sorted(node.open)[: AT_ONCE // 2])
            assert service.call("GET", "/v1/files")[0] in (200, 503), "who reads does not wait for it"
            wait_until(lambda: not check_of(service, "database")["ok"])
            notes = service.call("POST", "/v1/selections", {"subject": {"user": "alice"}})[1]["notes"]
            assert any("memory only" in note for note in notes)
        node.settle(service)
        wait_until(lambda: bool(check_of(service, "database")["ok"]))
    finally:
        service.end()
    stored = in_database(empty.url)
    assert {placement for placement, state in stored.items() if state == "open"} == node.open
    assert {placement for placement, state in stored.items() if state == "ended"} == node.ended
