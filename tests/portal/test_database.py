"""The portal's database: from empty to today's tables, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from ses_webface.accounts import models
from ses_webface.accounts.services import AccountService
from ses_webface.database import Base, Database
from ses_webface.errors import StartError
from sqlalchemy import text


def _postgres() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of our own on a socket; gives the URL of an empty database."""
    programs = _postgres()
    if programs is None:
        pytest.skip("Debian's postgresql is not installed")
    # Not under pytest's own directory: that one is closed to the user the server must run as.
    base = Path(subprocess.check_output(["mktemp", "-d", "/tmp/portal-pg-XXXXXX"], text=True).strip())
    before: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root and setpriv is missing")
        shutil.chown(base, "nobody")
        before = ["setpriv", "--reuid=nobody", "--clear-groups", "--"]
    try:
        subprocess.run(
            [*before, programs / "initdb", "-D", base / "data", "-A", "trust", "-U", "portal", "--no-sync"],
            check=True, capture_output=True, cwd=base,
        )  # fmt: skip
        options = f"-k {base} -c listen_addresses='' -c fsync=off"
        control = [*before, programs / "pg_ctl", "-D", base / "data", "-w", "-t", "60"]
        subprocess.run(
            [*control, "-o", options, "-l", base / "log", "start"], check=True, capture_output=True, cwd=base
        )
        try:
            yield f"postgresql://portal@/postgres?host={base}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=base)
    finally:
        shutil.rmtree(base)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'portal.sqlite3'}"
        return
    address = request.getfixturevalue("postgresql")
    yield address
    database = Database(address)
    with database.engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    database.close()


def test_an_empty_database_gets_the_tables_the_code_uses(url: str) -> None:
    database = Database(url)
    assert database.upgrade() == (None, "0001")
    assert database.upgrade() == ("0001", "0001")
    assert models.Account.__table__ in Base.metadata.tables.values()
    with database.engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    assert differences == []
    database.close()


def test_portals_started_together_upgrade_once(url: str) -> None:
    failures: list[BaseException] = []

    def start() -> None:
        try:
            database = Database(url)
            database.upgrade()
            database.close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    Database(url).check()


def test_accounts_work_on_it(url: str) -> None:
    database = Database(url)
    database.upgrade()
    accounts = AccountService(database, lambda: 1_800_000_000.5)
    accounts.add("alice", "correct horse battery", vo="materials")
    assert accounts.sign_in("alice", "wrong", "192.0.2.1") is None
    signed_in = accounts.sign_in("alice", "correct horse battery", "192.0.2.1")
    assert signed_in is not None
    assert (signed_in.name, signed_in.vo, signed_in.is_admin) == ("alice", "materials", False)
    database.close()


def test_a_database_of_a_later_portal_is_left_alone(url: str) -> None:
    database = Database(url)
    database.upgrade()
    with database.engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(StartError, match="used by a later portal"):
        database.upgrade()
    database.close()


@pytest.mark.parametrize("address", ["nonsense", "mysql://x/y", "sqlite+what://", ""])
def test_urls_that_cannot_work_are_named(address: str) -> None:
    with pytest.raises(StartError, match="database URL"):
        Database(address)


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot be brought up to date"):
        Database(f"sqlite:///{tmp_path / 'missing' / 'x.sqlite3'}").upgrade()
