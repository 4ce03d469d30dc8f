"""A ledger file that is damaged: the service goes on, nothing is overwritten, what can be read comes back."""

import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from invoked import invoked
from patience import wait_until
from prometheus_client.parser import text_string_to_metric_families
from service_process import SITE, Running
from ses_service.commands.main import main
from ses_service.ledger.achieved import Achieved, FileVerdict, Verdict
from ses_service.ledger.files import Wanted
from ses_service.ledger.placement import EndReason, Placement, PlacementState
from ses_service.ledger.size_history import SizeHistory, SizeKey, Sizes, keys_of
from ses_service.model.entities import Element, Kind, Level, Requirement, ResolvedRequirement, Subject
from ses_service.store.database import Database, sqlite_url
from ses_service.store.errors import DatabaseDamagedError, DatabaseError
from ses_service.store.files import FileHistory
from ses_service.store.set_aside import MAX_FILES, repair_command
from ses_service.store.writer import open_tables
from structlog.testing import capture_logs
from written_here import store_of, stored_in

PAGE = 4096
FILES = 400


def placed(number: int) -> Placement:
    """A file that was closed: of these nobody but the ledger knows."""
    wanted = ResolvedRequirement(Requirement(Kind.CURRENT_WRITE_RATE, 1e6 + number), Level.USER, "alice")
    return Placement(
        f"{(number + 1) * 7919:016x}",
        Subject("alice", "dd", "materials", "n1", "job"),
        Element("union/b1", "", "b1", "union", "/mnt/b1", ""),
        "mergerfs",
        0.25,
        placed_at=10.0,
        lease_until=40.0,
        requirements=(wanted,),
        notes=("so that a page holds few of them: " + "note " * 60,),
        state=PlacementState.ENDED,
        path=f"/u/result-{number}.bin",
        ended_at=50.0 + number,
        end_reason=EndReason.CLOSED,
        bytes_written=7.0,
        achieved=Achieved(7.0, 0.0, 1.0, 0.0, 2.0),
        file_verdict=FileVerdict(Verdict.MISSED, why="others came"),
    )


PLACED = {placement.placement_id: placement for placement in map(placed, range(FILES))}


def sizes() -> list[tuple[SizeKey, Sizes | None]]:
    history = SizeHistory()
    history.learn(keys_of("alice", "dd", "/u/result-1.bin"), (7.0,), 50.0)
    return [(key, history.get(key)) for key, _ in history.entries()]


def write_ledger(file: Path) -> None:
    database = Database(sqlite_url(file))
    store = store_of(database)
    store.open()
    store.write(list(PLACED.items()), sizes())
    database.close()


def overwritten(file: Path, start: int, length: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(random.Random(4).randbytes(length))


def middle(file: Path) -> None:
    overwritten(file, file.stat().st_size // PAGE // 2 * PAGE, PAGE)


def header(file: Path) -> None:
    overwritten(file, 0, 100)


def first_page(file: Path) -> None:
    overwritten(file, 0, PAGE)


def half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def a_few_bytes(file: Path) -> None:
    os.truncate(file, 50)


DAMAGES = [middle, header, first_page, half, a_few_bytes]


def damaged_files(file: Path) -> list[Path]:
    return sorted(path for path in file.parent.glob("ledger.db-damaged-*") if "-wal" not in path.name)


def metric(service: Any, name: str) -> dict[str, float]:
    text = service.get("/metrics").text
    return {
        ",".join(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


@pytest.fixture
def begun(serve: Any) -> Iterator[Callable[[Path], Any]]:
    made: list[Any] = []

    def begin(file: Path) -> Any:
        database = Database(sqlite_url(file))
        service = serve(3, store=store_of(database)).refresh()
        made.append((service, database))
        service.runtime.journal.start()
        return service

    yield begin
    for service, database in made:
        service.runtime.journal.stop()
        database.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_service_serves_with_a_new_ledger_and_keeps_the_damaged_one(
    tmp_path: Path, begun: Any, damage: Callable[[Path], None]
) -> None:
    file = tmp_path / "ledger.db"
    write_ledger(file)
    damage(file)
    content = file.read_bytes()
    with capture_logs() as logs:
        service = begun(file)
        wait_until(lambda: metric(service, "ses_database_up") == {"": 1.0})
    (kept,) = damaged_files(file)
    assert kept.read_bytes() == content
    assert metric(service, "ses_damaged_ledgers") == {"": 1.0}
    assert metric(service, "ses_check_ok")["damaged-ledger"] == 0.0
    assert metric(service, "ses_ready") == {"": 1.0}
    said = service.get("/readyz", code=200)
    (check,) = [listed for listed in said.get_json()["checks"] if listed["name"] == "damaged-ledger"]
    assert str(kept) in check["detail"]
    assert f"run: ses-service repair-ledger --state-dir {tmp_path}" in check["detail"]
    (line,) = [log for log in logs if log.get("kept") == str(kept)]
    assert line["log_level"] == "error"
    (new,) = service.open()
    wait_until(lambda: new in stored(file))


def stored(file: Path) -> dict[str, str]:
    database = Database(sqlite_url(file))
    try:
        return {placement.placement_id: placement.state.value for placement in stored_in(database)}
    finally:
        database.close()


def test_one_that_is_damaged_while_it_is_used_is_written_anew_from_memory(tmp_path: Path, begun: Any) -> None:
    file = tmp_path / "ledger.db"
    service = begun(file)
    ids = service.open(20)
    wait_until(lambda: stored(file).keys() == set(ids))
    service.runtime.journal._store.database.close()
    database = Database(sqlite_url(file))
    with database.transaction(reading=True) as connection:
        pages = connection.exec_driver_sql("pragma page_count").scalar_one()
    database.close()
    assert pages > 4

    def damage() -> bool:
        """Again where the pages came from the write-ahead log, as the file was opened again meanwhile."""
        overwritten(file, PAGE, (pages - 1) * PAGE)
        service.runtime.journal._store.database.close()
        ids.extend(service.open(5))
        time.sleep(0.5)
        return bool(damaged_files(file))

    wait_until(damage, "the damage is seen")
    wait_until(lambda: metric(service, "ses_database_up") == {"": 1.0})
    wait_until(lambda: stored(file).keys() == set(ids))


def test_an_empty_file_is_a_ledger_that_was_never_written(tmp_path: Path, begun: Any) -> None:
    file = tmp_path / "ledger.db"
    file.touch()
    service = begun(file)
    assert metric(service, "ses_database_up") == {"": 1.0}
    assert metric(service, "ses_damaged_ledgers") == {"": 0.0}
    assert damaged_files(file) == []


def test_a_file_of_somebody_else_is_not_damaged() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "ledger.db")
        write_ledger(file)
        lock = file.with_name("ledger.db-lock")
        for path in (file, lock):
            path.chmod(0)
        shutil.chown(folder, 65534)
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        try:
            for path in (lock, file):
                database = Database(sqlite_url(file))
                with pytest.raises(DatabaseError) as raised:
                    open_tables(database)
                database.close()
                assert not isinstance(raised.value, DatabaseDamagedError)
                assert f"{path} belongs to user {before}, mode 0000" in str(raised.value)
                lock.unlink(missing_ok=True)
        finally:
            os.seteuid(before)
        assert damaged_files(file) == []


def test_a_disk_that_damages_every_file_is_not_filled_with_them(tmp_path: Path, begun: Any) -> None:
    file = tmp_path / "ledger.db"
    for number in range(MAX_FILES):
        Path(f"{file}-damaged-2026010{number}T000000Z").touch()
    file.write_bytes(b"no database" * PAGE)
    service = begun(file)
    wait_until(lambda: "look at the disk" in service.runtime.journal.status.detail)
    assert file.read_bytes() == b"no database" * PAGE
    assert len(damaged_files(file)) == MAX_FILES
    assert service.open(), "the ledger goes on in memory"


def repair(folder: Path) -> str:
    done = invoked(main, ["repair-ledger", f"--state-dir={folder}"])
    return done.output


def test_the_command_that_repairs_names_the_ledger_wherever_it_lies() -> None:
    command = "ses-service repair-ledger --state-dir /s"
    assert repair_command(Path("/s/ledger.db-damaged-20260101T000000Z")) == command
    assert repair_command(Path("/s/a b")) == f"{command} --database-url 'sqlite:////s/a b'"


def rows_in(file: Path, table: str, pages: range) -> int:
    """How many rows of a table lie in these pages; the first page of a file is 1."""
    with closing(sqlite3.connect(file)) as connection:
        leaves = connection.execute(
            "select pageno, ncell from dbstat where name = ? and pagetype = 'leaf'", (table,)
        )
        return sum(rows for page, rows in leaves if page in pages)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_can_be_read_is_put_back_and_what_was_lost_is_said(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    file = tmp_path / "ledger.db"
    write_ledger(file)
    pages = file.stat().st_size // PAGE
    lost_pages = {
        middle: range(pages // 2 + 1, pages // 2 + 2),
        half: range(pages // 2 + 1, pages + 1),
        a_few_bytes: range(1, pages + 1),
    }.get(damage, range(0))
    readable = FILES - rows_in(file, "ses_placement", lost_pages)
    explainable = FILES - rows_in(file, "ses_explanation", lost_pages)
    damage(file)
    content = file.read_bytes()
    said = repair(tmp_path)
    rows = stored(file)
    assert rows.items() <= dict.fromkeys(PLACED, "ended").items()
    assert len(rows) == readable
    lost = next(line for line in said.splitlines() if "placements:" in line)
    assert f"{len(rows)} read, {len(rows)} put back" in lost
    assert "or more lost" in lost or f"{FILES - len(rows)} lost" in lost
    assert damaged_files(file) == []
    (kept,) = tmp_path.glob("ledger.db-repaired-*")
    assert kept.read_bytes() == content
    assert str(kept) in said
    database = Database(sqlite_url(file))
    explained = [placement for placement in rows if store_of(database).explanation(placement).requirements]
    history = FileHistory(database)
    files = {listed.placement_id for listed in history.page(Wanted(user="alice"), FILES).files}
    detailed = [
        placement
        for placement in files
        if (known := history.detail(placement)) and known[1].file_verdict is not None
    ]
    database.close()
    assert readable + explainable - FILES <= len(explained) <= min(readable, explainable)
    assert files <= PLACED.keys()
    assert f"files that ended: {len(files)} read, {len(files)} put back" in said
    assert len(detailed) >= (0 if damage is half else readable - 40)
    assert "can be read" in repair(tmp_path)


def test_what_the_ledger_knows_by_now_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    write_ledger(file)
    header(file)
    repair_nothing_yet = file.rename(tmp_path / "ledger.db-damaged-20260101T000000Z")
    database = Database(sqlite_url(file))
    store = store_of(database)
    store.open()
    (known, before), *_ = PLACED.items()
    store.write([(known, Placement(known, before.subject, before.element, "x", 0.0, 1.0, 2.0))])
    database.close()
    assert f"{FILES} read, {FILES - 1} put back, 0 lost" in repair(tmp_path)
    assert not repair_nothing_yet.exists()
    rows = stored(file)
    assert rows.pop(known) == "open"
    assert set(rows.values()) == {"ended"}


def test_at_three_in_the_morning(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    write_ledger(state / "ledger.db")
    header(state / "ledger.db")
    options = ("--trust-loopback", f"--site={SITE}")
    service = Running(tmp_path, *options).wait_ready()
    try:
        wait_until(
            lambda: any(
                check["name"] == "damaged-ledger" for check in service.call("GET", "/readyz")[1]["checks"]
            )
        )
        assert service.call("POST", "/v1/selections", {"subject": {"user": "alice"}})[0] == 200
        refused = invoked(main, ["repair-ledger", f"--state-dir={state}"], code=1)
        assert "stop the service first" in refused.output
    finally:
        assert service.end() == 0
    repair(state)
    service = Running(tmp_path, *options).wait_ready()
    try:
        (placement, *_) = PLACED
        wait_until(lambda: service.call("GET", f"/v1/placements/{placement}")[0] == 200)
        answer = service.call("GET", "/readyz")[1]
        assert not [check for check in answer["checks"] if check["name"] == "damaged-ledger"]
    finally:
        assert service.end() == 0
