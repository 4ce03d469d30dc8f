"""The portal's database: from empty to today's tables, on SQLite and on a real PostgreSQL."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from postgresql_server import PostgresServer, postgresql
from ses_webface.accounts import models
from ses_webface.accounts.services import AccountService
from ses_webface.database import Base, Database
from ses_webface.errors import StartError
from sqlalchemy import text

__all__ = ["postgresql"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'portal.sqlite3'}"
        return
    server = request.getfixturevalue("postgresql")
    yield server.url.replace("postgresql+psycopg:", "postgresql:")
    server.sql("drop schema public cascade", "create schema public")


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


def test_a_database_of_postgresql_keeps_every_name_or_is_refused(postgresql: PostgresServer) -> None:
    """A server that was set up without a language of its machine has SQL_ASCII."""
    database = Database(postgresql.url_of("SQL_ASCII"))
    database.upgrade()
    accounts = AccountService(database, lambda: 1_800_000_000.5)
    accounts.add("jürgen", None, vo="物理")
    assert [(account.name, account.vo) for account in accounts.everybody()] == [("jürgen", "物理")]
    database.close()
    refused = Database(postgresql.url_of("LATIN1"))
    with pytest.raises(StartError, match=r"keeps text as LATIN1.* createdb .*--encoding=UTF8"):
        refused.upgrade()
    refused.close()


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
