"""Writing behind: what is stored when, and what happens while the database is away."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from asked import answer_to, request_for
from files_opened import decision, new_ids
from files_opened import opened as file_opened
from patience import wait_until
from ses_service.http.edge import Edge
from ses_service.model.policies import Policies
from ses_service.process import readiness as readiness_module
from ses_service.state.ledger_access import RESTORED_LEASE
from ses_service.state.state import ServiceState
from ses_service.store import journal as journal_module
from ses_service.store.acknowledged import StoredAnnouncements
from ses_service.store.database import Database
from ses_service.store.errors import DatabaseError
from ses_service.store.journal import Journal
from ses_service.store.records import RecordStore
from structlog.testing import CapturingLogger
from written_here import store_of, stored_in

AGENT = "a" * 16


class Flaky(RecordStore):
    """A store on a database that can be taken away."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.away: str | None = None
        self.slow = threading.Event()
        self.slow.set()
        self.writing = False
        self.transactions = 0
        self.whole = 0

    def open(self) -> bool:
        self._try()
        return super().open()

    def write(self, *arguments: Any, **options: Any) -> None:
        self._try()
        self.writing = True
        self.slow.wait()
        self.writing = False
        self._try()
        super().write(*arguments, **options)
        self.transactions += 1
        self.whole += bool(options.get("whole"))

    def _try(self) -> None:
        if self.away is not None:
            raise DatabaseError(self.away)


class Stored:
    """A service whose ledger is stored by a journal that can fail."""

    def __init__(self, serve: Any, database: Database, **config: Any) -> None:
        self.store = Flaky(database)
        self.service = serve(3, store=self.store, **config).refresh()
        self.journal: Journal = self.service.runtime.journal
        self.number = 0

    @property
    def state(self) -> ServiceState:
        state: ServiceState = self.service.runtime.state
        return state

    def open(self, count: int = 1, **more: Any) -> list[str]:
        """Announce files that programs placed; return their ids."""
        ids: list[str] = self.service.open(count, **more)
        return ids

    def announce(self, **said: Any) -> Any:
        """Announce, and wait until it is stored if the database answers."""
        taken, number = self.say(**said), self.number
        if self.store.away is None:
            wait_until(lambda: self.say()["stored"] >= number)
        return taken

    def say(self, **said: Any) -> Any:
        self.number += 1
        message = {"incarnation": AGENT, "number": self.number, **said}
        answer = self.service.post("/v1/nodes/n1/announcements", message)
        assert answer.status_code == 200, answer.get_json()
        return answer.get_json()

    def in_database(self) -> dict[str, str]:
        return {placement.placement_id: placement.state.value for placement in stored_in(self.store.database)}


@pytest.fixture
def stored(serve: Any, tmp_path: Path) -> Iterator[Stored]:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    made = Stored(serve, database)
    made.journal.start()
    yield made
    made.store.away = None
    made.journal.stop()
    database.close()


@pytest.fixture
def restart(serve: Any, stored: Stored) -> Iterator[Callable[..., Stored]]:
    """Begin again with what the database holds, which may be away for a while."""
    with ExitStack() as ends:

        def restart(away: str | None = None) -> Stored:
            stored.journal.stop()
            again = Stored(serve, stored.store.database)
            again.store.away = away
            again.journal.start()
            ends.callback(again.journal.stop)
            return again

        yield restart


def opened(placement_id: str, number: int = 1) -> dict[str, Any]:
    return {"placement_id": placement_id, "user": "alice", "device": 5, "inode": str(number)}


def closed(placement_id: str, size: float) -> dict[str, Any]:
    return {"placement_id": placement_id, "reason": "closed", "bytes_written": size}


def test_an_answer_waits_for_nothing_and_says_up_to_which_announcement_all_is_stored(stored: Stored) -> None:
    first, second = stored.open(2)
    stored.announce()
    stored.store.slow.clear()
    answer = stored.say(opened=[opened(first), opened(second)], ended=[closed(second, 7)])
    number = stored.number
    assert answer["stored"] < number
    assert stored.say()["stored"] < number
    assert second not in stored.in_database() or stored.in_database()[second] == "open"
    stored.store.slow.set()
    wait_until(lambda: stored.say()["stored"] >= number)
    assert stored.in_database() == {first: "open", second: "ended"}


def test_what_a_database_that_is_away_lacks_is_not_said_to_be_stored(stored: Stored) -> None:
    (placement,) = stored.open()
    stored.announce(opened=[opened(placement)])
    stored.store.away = "gone"
    stored.say(ended=[closed(placement, 7)])
    number = stored.number
    wait_until(lambda: not stored.journal.status.ok)
    assert stored.say()["stored"] < number
    stored.store.away = None
    wait_until(lambda: stored.say()["stored"] >= number)
    assert stored.in_database() == {placement: "ended"}


def test_without_a_database_nothing_will_be_more_lasting(serve: Any) -> None:
    service = serve(3).refresh()
    said = {"incarnation": AGENT, "number": 7}
    assert service.post("/v1/nodes/n1/announcements", said).get_json()["stored"] == 7


def test_each_incarnation_of_an_agent_counts_for_itself_and_the_number_never_goes_too_far() -> None:
    marks = itertools.count(1)
    done = 0
    storing = StoredAnnouncements(lambda: next(marks), lambda: done)
    assert [storing.taken("n1", "a", number) for number in range(1, 2001)] == [0] * 2000
    assert storing.taken("n1", "b", 5) == 0
    assert storing.taken("n2", "a", 9) == 0
    done = 2001
    assert storing.taken("n1", "b", 6) == 5
    assert storing.taken("n1", "a", 7) == 0, "heard anew: what it said before is not known any more"
    done = 10**6
    assert storing.taken("n2", "a", 10) == 10


def test_many_announcements_that_wait_take_little_memory() -> None:
    done = 0
    marks = itertools.count(1)
    storing = StoredAnnouncements(lambda: next(marks), lambda: done)
    for number in range(1, 5001):
        storing.taken("n1", "a", number)
    assert len(storing._nodes["n1"].waiting) <= 1000
    done = 4999
    assert storing.taken("n1", "a", 5001) < 5000
    done = 5001
    assert storing.taken("n1", "a", 5002) == 5001


def test_many_changes_make_few_transactions(stored: Stored) -> None:
    stored.store.slow.clear()  # so that all of it waits, however long saying it takes
    ids = stored.open(500)
    stored.say(opened=[opened(placement, number) for number, placement in enumerate(ids)])
    stored.store.slow.set()
    stored.announce()
    assert len(stored.in_database()) == 500
    assert stored.store.transactions <= 5


def test_without_the_database_everything_goes_on_and_it_is_said(stored: Stored) -> None:
    stored.store.away = "disk is full"
    (placement,) = stored.open()
    wait_until(lambda: not stored.journal.status.ok)
    stored.announce(opened=[opened(placement)])
    ready = stored.service.get("/readyz")
    checks = {check["name"]: check for check in ready.get_json()["checks"]}
    assert checks["database"]["ok"] is False
    assert "disk is full" in checks["database"]["detail"]
    assert ready.status_code == 200
    notes = stored.service.post("/v1/selections", {"subject": {"user": "alice"}}).get_json()["notes"]
    assert any("memory only: disk is full" in note for note in notes)
    metrics = stored.service.get("/metrics").text
    assert "ses_database_up 0.0" in metrics
    assert "ses_database_waiting_records 1.0" in metrics


def test_a_database_that_takes_long_is_said_to(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> dict[str, Any]:
        checks = stored.service.get("/readyz").get_json()["checks"]
        return next(check for check in checks if check["name"] == "database")

    monkeypatch.setattr(journal_module, "_LATE", 0.0)
    monkeypatch.setattr(readiness_module, "_SLOW", 0.1)
    stored.store.slow.clear()
    stored.open()
    wait_until(lambda: not check()["ok"])
    assert "is not stored yet" in check()["detail"]
    stored.store.slow.set()
    wait_until(lambda: bool(check()["ok"]))


def test_when_the_database_answers_again_nothing_is_missing(stored: Stored) -> None:
    kept, gone = stored.open(2)
    wait_until(lambda: len(stored.in_database()) == 2)
    stored.store.away = "disk is full"
    (late,) = stored.open()
    stored.announce(opened=[opened(kept)], ended=[closed(gone, 7)])
    wait_until(lambda: not stored.journal.status.ok)
    stored.store.away = None
    wait_until(lambda: stored.journal.status.ok)
    assert stored.in_database() == {kept: "open", gone: "ended", late: "open"}
    assert stored.store.whole == 0
    assert "ses_database_up 1.0" in stored.service.get("/metrics").text
    assert stored.service.post("/v1/selections", {"subject": {"user": "alice"}}).status_code == 200
    assert not stored.journal.notes()


def test_when_too_much_waits_everything_is_written_anew(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MAX_WAITING", 10)
    first = stored.open(5)
    wait_until(lambda: len(stored.in_database()) == 5)
    stored.store.away = "disk is full"
    second = stored.open(100)
    wait_until(lambda: stored.journal.status.failures >= 2 and stored.journal.status.waiting <= 10)
    stored.store.away = None
    wait_until(lambda: stored.journal.status.ok)
    assert stored.store.whole == 1
    assert set(stored.in_database()) == {*first, *second}


def test_a_database_emptied_meanwhile_gets_everything(stored: Stored) -> None:
    ids = stored.open(5)
    wait_until(lambda: len(stored.in_database()) == 5)
    stored.store.away = "gone"
    stored.open(1)
    wait_until(lambda: not stored.journal.status.ok)
    with stored.store.database.transaction() as connection:
        for table in (
            "ses_placement",
            "ses_explanation",
            "ses_size_history",
            "ses_file",
            "ses_service",
            "ses_alembic_version",
        ):
            connection.exec_driver_sql(f"drop table {table}")
    stored.store.away = None
    wait_until(lambda: stored.journal.status.ok)
    assert set(ids) < set(stored.in_database())


def test_what_changes_while_others_are_taken_is_written_once(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = stored.state.ledger
    drain, write, taken, written = ledger.drain_placements, stored.store.write, [], []

    def drain_and_change(changed: set[str], most: int) -> list[tuple[str, Any]]:
        drained = drain(changed, most if not taken else 3)
        if drained and not taken:
            ledger.put_back(changed, [placement for placement, _ in drained])
        taken.extend(placement for placement, _ in drained)
        return drained

    def noted(changes: Any, *arguments: Any, **options: Any) -> None:
        written.extend(placement for placement, _ in changes)
        write(changes, *arguments, **options)

    monkeypatch.setattr(journal_module, "_AT_ONCE", 1)
    monkeypatch.setattr(ledger, "drain_placements", drain_and_change)
    monkeypatch.setattr(stored.store, "write", noted)
    ids = stored.open(3)
    wait_until(lambda: set(ids) <= set(stored.in_database()))
    assert len(taken) == 4, "one was taken again"
    assert sorted(written) == sorted(ids)


def test_a_failure_is_logged_once(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CapturingLogger()  # where a log goes belongs to the whole process, and other tests set it
    monkeypatch.setattr(journal_module, "_log", log)
    stored.store.away = "disk is full"
    stored.open()
    wait_until(lambda: stored.journal.status.failures >= 3)
    stored.store.away = None
    wait_until(lambda: stored.journal.status.ok)
    assert [call.args for call in log.calls] == [
        ("database failed; the ledger is in memory only",),
        ("database answers again",),
    ]


def test_a_database_that_answers_later_gives_what_it_held_and_gets_what_is_new(
    restart: Any, stored: Stored
) -> None:
    (before,) = stored.open()
    stored.announce(opened=[opened(before)])
    again = restart(away="starting")
    (later,) = again.open()
    assert not again.journal.status.ok
    again.store.away = None
    wait_until(lambda: again.journal.status.ok)
    assert again.in_database() == {before: "open", later: "open"}
    assert again.state.placement(before).state == "open"


def test_an_explanation_is_there_after_a_restart(restart: Any, stored: Stored) -> None:
    (placement,) = new_ids(1)
    file = file_opened(placement, decision={"id": 4})
    stored.announce(opened=[file], decisions=[decision(4, "union/b1", "union/b0")])
    before = stored.service.get(f"/v1/placements/{placement}").get_json()
    assert len(before["candidates"]) == 2
    assert before["refused"]
    again = restart()
    after = again.service.get(f"/v1/placements/{placement}").get_json()
    assert after == before


def test_a_file_whose_end_was_told_while_the_database_was_away_does_not_stay_open(
    restart: Any, clock: Any, stored: Stored
) -> None:
    known, missed = stored.open(2)
    stored.announce(opened=[opened(known, 1), opened(missed, 2)])
    again = restart(away="starting")
    restore = {"element": "union/b0", "placed_at": clock.time}
    answer = again.announce(
        opened=[{**opened(known, 1), "restore": restore}], ended=[closed(missed, 7)], complete=True
    )
    assert answer["unknown"] == [missed]
    again.store.away = None
    wait_until(lambda: again.journal.status.ok)
    assert again.state.placement(missed).state == "open"
    assert [held["placement_id"] for held in again.announce()["open"]] == [missed], "its node is asked"
    for _ in range(10):
        clock.time += RESTORED_LEASE / 8
        assert again.announce()["open"] is None, "once"
    assert again.state.placement(missed).end_reason == "expired"
    assert again.state.placement(known).state == "open"


def test_what_ended_while_the_database_was_away_is_stored_though_memory_keeps_less(
    serve: Any, tmp_path: Path
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    stored = Stored(serve, database, policies=Policies(max_records=2))
    ids = stored.open(15)
    stored.journal.start()
    stored.announce()

    def end(*placements: str) -> None:
        stored.say(ended=[closed(placement, 7) for placement in placements])

    stored.store.slow.clear()
    end(*ids[:5])
    wait_until(lambda: stored.store.writing)
    end(*ids[5:10])
    stored.store.away = "disk full"
    stored.store.slow.set()
    wait_until(lambda: not stored.journal.status.ok)
    end(*ids[10:14])
    stored.store.away = None
    wait_until(lambda: stored.journal.status.ok)
    stored.announce()
    listed = stored.service.get("/v1/files?state=ended").get_json()["files"]
    assert sorted(placement["placement_id"] for placement in listed) == sorted(ids[:14])
    end(ids[14])
    wait_until(lambda: len(stored.in_database()) == 2)
    stored.journal.stop()
    database.close()


def test_a_file_on_a_node_that_was_not_heard_yet_waits_for_it(
    restart: Any, clock: Any, stored: Stored
) -> None:
    (placement,) = stored.open()
    stored.announce(opened=[opened(placement)])
    again = restart()
    clock.time += RESTORED_LEASE + 1
    assert [held["placement_id"] for held in again.announce()["open"]] == [placement]


def test_sizes_are_learned_without_the_lock_decisions_take(stored: Stored, clock: Any) -> None:
    (placement,) = stored.open()
    stored.announce(opened=[{**opened(placement), "path": "/d/f.1"}], ended=[closed(placement, 7.0)])
    with stored.state._lock:
        stored.state.ledger.learn()
    expected = stored.service.post(
        "/v1/selections", {"subject": {"user": "alice", "application": "dd"}, "path": "/d/f.2"}
    ).get_json()
    assert (expected["expected_bytes"], expected["expected_from"]) == (21.0, "history")


def test_a_size_that_is_acknowledged_is_stored(stored: Stored) -> None:
    (placement,) = stored.open()
    stored.announce(opened=[{**opened(placement), "path": "/d/f.1"}], ended=[closed(placement, 7.0)])
    sizes = store_of(stored.store.database).sizes()[0]
    assert {key.pattern: known.median for key, known in sizes} == {"": 7.0, "/d/f.#": 7.0}


def test_an_explanation_is_read_aside_of_the_event_loop(
    restart: Any, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    (placement,) = stored.open()
    again = restart()
    readers: list[str] = []
    read = again.store.explanation

    def noted(placement_id: str) -> Any:
        readers.append(threading.current_thread().name)
        return read(placement_id)

    monkeypatch.setattr(again.store, "explanation", noted)
    edge = Edge(again.service.app)
    asked = request_for(f"/v1/placements/{placement}", headers=[(b"host", b"127.0.0.1")])
    answer = asyncio.run(answer_to(edge, asked))
    edge.close()
    assert answer is not None
    assert answer.status == 200
    assert len(readers) == 1
    assert readers[0].startswith("answer")
    assert readers[0] != threading.current_thread().name


def test_a_second_service_on_a_database_says_so_and_takes_over(
    serve: Any, tmp_path: Path, stored: Stored
) -> None:
    (before,) = stored.open()
    stored.announce(opened=[opened(before)])
    second = Stored(serve, Database(f"sqlite:///{tmp_path / 'ledger.db'}"))
    second.journal.start()
    (own,) = second.open()
    assert "in use by process" in second.journal.status.detail
    assert any("one service at a time" in note for note in second.journal.notes())
    assert second.in_database() == {before: "open"}
    stored.journal.stop()
    stored.store.database.close()
    wait_until(lambda: second.journal.status.ok)
    assert second.in_database() == {before: "open", own: "open"}
    assert second.state.placement(before).state == "open"
    second.journal.stop()
    second.store.database.close()
