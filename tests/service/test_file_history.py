"""What is asked about files that ended is looked up, however many there are."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.files import Wanted
from ses_service.store.database import Database, sqlite_url
from ses_service.store.files import FileHistory
from ses_service.store.revisions import upgrade


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(), "ended"),
        (Wanted(since=1.0, until=2.0, after=(1.5, "f")), "ended"),
        (Wanted(user="alice"), "user"),
        (Wanted(application="dd"), "application"),
        (Wanted(vo="materials", since=1.0), "vo"),
        (Wanted(job="7", after=(1.5, "f")), "job"),
        (Wanted(element="u/a"), "element"),
        (Wanted(verdict=Verdict.MISSED), "verdict"),
        (Wanted(user="alice", verdict=Verdict.MISSED), "user_verdict"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_the_latest_files_asked_for_are_found_by_an_index(tmp_path: Path, wanted: Wanted, index: str) -> None:
    database = Database(sqlite_url(tmp_path / "ledger.db"))
    upgrade(database)
    asked: list[tuple[str, Any]] = []
    sa.event.listen(
        database._engine, "before_cursor_execute", lambda _c, _u, text, bound, *_: asked.append((text, bound))
    )
    FileHistory(database).page(wanted, 10)
    text, bound = next(entry for entry in asked if "ses_file" in entry[0])
    with database.transaction(reading=True) as connection:
        plan = connection.exec_driver_sql(f"explain query plan {text}", bound).all()
    database.close()
    assert f"ses_file USING INDEX ses_file_{index}" in plan[0][3]
