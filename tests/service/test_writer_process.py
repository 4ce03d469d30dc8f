"""A database that is written by a process of its own, which may be killed, refused or left alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from ses_service.ledger.placement import Basis, Candidate, Placement, Prediction
from ses_service.ledger.size_history import SizeHistory, keys_of
from ses_service.model.entities import Element, Kind, Subject
from ses_service.store import writer_process
from ses_service.store.database import Database, sqlite_url
from ses_service.store.errors import DatabaseError, DatabaseInUseError, DatabaseUrlError
from ses_service.store.records import RecordStore
from ses_service.store.writer_process import WriterProcess
from written_here import store_of, stored_in

PREDICTED = (Prediction(Kind.CURRENT_WRITE_RATE, 5e6, 1e7, 0.5),)
ELEMENT = Element("u/a", "", "a", "u", "/mnt/a", "")
CANDIDATE = Candidate(1, ELEMENT, 0.5, None, 5e6, 1e12, PREDICTED, 0.5, Basis.MONITOR)


def placement(number: int) -> Placement:
    return Placement(
        f"{number:016x}",
        Subject("alice", "dd", "materials", "n1", "job-1"),
        ELEMENT,
        "lustre",
        0.25,
        10.0,
        40.0,
        predicted=PREDICTED,
        candidates=(CANDIDATE,),
    )


def written(*placements: Placement) -> list[tuple[str, Placement | None]]:
    return [(one.placement_id, one) for one in placements]


class Apart:
    """A store whose database is written by another process."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.writer = WriterProcess(url, None, self.database.owner)
        self.store = RecordStore(self.database, self.writer)

    @property
    def process(self) -> int:
        """The id of the process that writes."""
        process = self.writer._process
        assert process is not None
        return process.pid

    def stored(self) -> set[str]:
        """The ids that are in the database."""
        return {one.placement_id for one in stored_in(self.database)}

    def close(self) -> None:
        self.writer.close()
        self.database.close()


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Apart]:
    made = Apart(sqlite_url(tmp_path / "ledger.db"))
    yield made
    made.close()


def gone(process: int) -> bool:
    return not Path(f"/proc/{process}/cmdline").exists() or not Path(f"/proc/{process}/cmdline").read_bytes()


def test_what_another_process_writes_is_what_is_read(apart: Apart) -> None:
    assert not apart.store.open(), "the tables were missing"
    assert apart.store.open()
    history = SizeHistory()
    keys = keys_of("alice", "dd", "/u/step7.bin")
    history.learn(keys, 7e9, 12.0)
    several = [placement(number) for number in range(700)]
    apart.store.write(written(*several), [(keys[0], history.get(keys[0]))])
    apart.store.write([(several[0].placement_id, None)])
    loaded = store_of(apart.database).load([])
    assert {one.placement_id for one in loaded.placements} == {one.placement_id for one in several[1:]}
    assert loaded.placements[0].predicted == PREDICTED
    assert [key for key, _ in loaded.sizes] == [keys[0]]
    assert apart.store.explanation(several[9].placement_id).candidates == (CANDIDATE,)


def test_nothing_to_write_asks_nobody(apart: Apart) -> None:
    apart.store.open()
    apart.store.write([])
    assert apart.stored() == set()


def test_a_writer_that_is_killed_is_replaced_and_its_tables_are_ours(apart: Apart) -> None:
    apart.store.open()
    apart.store.write(written(placement(1)))
    killed = apart.process
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: gone(killed))
    with pytest.raises(DatabaseError, match="process that writes it ended"):
        apart.store.write(written(placement(2)))
    with pytest.raises(DatabaseError, match="does not run"):
        apart.store.write(written(placement(2)))
    assert apart.store.open(), "nobody else wrote it meanwhile"
    assert apart.process != killed
    apart.store.write(written(placement(2)))
    assert apart.stored() == {placement(1).placement_id, placement(2).placement_id}


def test_a_writer_that_is_stopped_is_replaced(apart: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    apart.store.open()
    stopped = apart.process
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(writer_process, "_PATIENCE", 0.5)
    several = written(*(placement(number) for number in range(3000)))  # more than the pipe holds
    with pytest.raises(DatabaseError, match="process that writes it took nothing"):
        apart.store.write(several)
    assert gone(stopped)
    monkeypatch.undo()
    apart.store.open()
    apart.store.write(several)
    assert len(apart.stored()) == 3000


def test_an_error_of_the_database_is_the_one_of_the_other_process(apart: Apart) -> None:
    apart.store.open()
    with apart.database.transaction() as connection:
        connection.exec_driver_sql("alter table ses_placement rename to aside")
    with pytest.raises(DatabaseError, match="ses_placement"):
        apart.store.write(written(*(placement(number) for number in range(3000))))
    with apart.database.transaction() as connection:
        connection.exec_driver_sql("alter table aside rename to ses_placement")
    apart.store.write(written(placement(1)))
    assert apart.stored() == {placement(1).placement_id}


def test_a_database_of_a_later_service_is_refused_by_name(apart: Apart) -> None:
    apart.store.open()
    with apart.database.transaction() as connection:
        connection.exec_driver_sql("update ses_alembic_version set version_num = '9999'")
    with pytest.raises(DatabaseUrlError, match="9999"):
        apart.store.open()


def test_others_are_told_of_the_service_and_not_of_its_writer(apart: Apart, tmp_path: Path) -> None:
    apart.store.open()
    other = store_of(Database(sqlite_url(tmp_path / "ledger.db")))
    with pytest.raises(DatabaseInUseError, match=f"process {os.getpid()}"):
        other.open()


def test_a_writer_ends_when_its_service_does_and_not_by_a_signal(apart: Apart) -> None:
    apart.store.open()
    writer = apart.process
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(writer, one)
    apart.store.write(written(placement(1)))
    assert apart.stored() == {placement(1).placement_id}
    apart.writer.close()
    assert gone(writer)


def test_a_service_takes_over_from_a_writer_that_is_about_to_end(apart: Apart, tmp_path: Path) -> None:
    apart.store.open()
    apart.store.write(written(placement(1)))
    orphan = apart.process
    apart.writer._hang_up()
    successor = Apart(sqlite_url(tmp_path / "ledger.db"))
    try:
        successor.store.open()
        assert successor.stored() == {placement(1).placement_id}
    finally:
        successor.close()
    os.waitpid(orphan, 0)
