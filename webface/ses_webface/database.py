"""The portal's own database: engine, sessions, and bringing its tables up to date.

SQLite by default, PostgreSQL by URL.  Holds accounts, sessions and failed sign-ins, nothing of the
selection service's.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from ses_listen import deadline
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from ses_webface.errors import StartError

_MIGRATIONS = "ses_webface:migrations"
_PATIENCE = 10  # seconds to wait for others that write to a file of SQLite
_STEPS = 100_000  # of SQLite, some milliseconds, until it is asked whether the request has ended
_POSTGRESQL = {
    "connect_timeout": 5,  # seconds
    "options": "-c statement_timeout=60000",  # milliseconds
    "client_encoding": "utf8",  # a database without an encoding (SQL_ASCII) answers with bytes otherwise
}
_OF_ALL_NAMES = ("UTF8", "SQL_ASCII")  # encodings; the latter keeps bytes as they come
_UPGRADE_LOCK = 0x5345535F  # one number for all portals on one PostgreSQL server's database


class Base(DeclarativeBase):
    """Base of the portal's tables."""


class Database:
    """One database; thread-safe.  Raises StartError when the URL is not one that works here."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Give a session; commits at the end, rolls back on an error."""
        try:
            with self._sessions() as session, session.begin():
                yield session
        except SQLAlchemyError:
            deadline.check()
            raise

    def upgrade(self) -> tuple[str | None, str | None]:
        """Run missing migrations; returns the revision before and after.  Raises StartError."""
        try:
            with self.engine.begin() as connection:
                if connection.dialect.name == "postgresql":
                    _check_encoding(connection)
                    connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
                before = MigrationContext.configure(connection).get_current_revision()
                _check_known(before)
                command.upgrade(_config(connection), "head")
                after = MigrationContext.configure(connection).get_current_revision()
        except SQLAlchemyError as error:
            raise StartError(f"The database cannot be brought up to date: {reason_of(error)}") from error
        finally:
            self.engine.dispose()  # the server forks after this; a connection must not be shared
        return before, after

    def check(self) -> None:
        """Return when the database answers with all tables; raises SQLAlchemyError otherwise."""
        with self.engine.connect() as connection:
            connection.execute(text("select count(*) from account")).scalar_one()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.password is not None or any("password" in name.lower() for name in parsed.query):
            raise StartError(
                "A password in the database URL can be seen by others (ps, docker inspect): put it into "
                "PGPASSFILE."
            )
        if parsed.get_backend_name() == "sqlite":
            engine = create_engine(parsed, connect_args={"timeout": _PATIENCE})
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        if parsed.get_backend_name() == "postgresql":
            return create_engine(parsed, pool_pre_ping=True, connect_args=_POSTGRESQL)
    except (ArgumentError, ImportError) as error:
        raise StartError(f"The database URL is not usable: {error}") from error
    raise StartError(f"The database URL names {parsed.get_backend_name()}; use sqlite or postgresql.")


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, see _begin_sqlite
    connection.set_progress_handler(lambda: not deadline.left(), _STEPS)
    cursor = connection.cursor()
    _into_wal(cursor)
    cursor.execute("pragma foreign_keys=on")
    cursor.close()


def _into_wal(cursor: Any) -> None:
    """Change the journal's kind, which SQLite refuses at once, without waiting, while others use the file."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            cursor.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    # Taking the write lock first lets two writers wait for each other instead of failing.
    connection.exec_driver_sql("begin immediate")


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _check_encoding(connection: Connection) -> None:
    encoding = connection.execute(text("show server_encoding")).scalar_one()
    if encoding not in _OF_ALL_NAMES:
        raise StartError(
            f"The database keeps text as {encoding}, which lacks characters that names have. Make another "
            "one by: createdb --template=template0 --encoding=UTF8 NAME"
        )


def _check_known(revision: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config(None)).walk_revisions()}
    if revision is not None and revision not in known:
        raise StartError(
            f"The database is at revision {revision}, which this portal does not know: "
            "it was used by a later portal. Start that one, or restore a backup."
        )


def reason_of(error: SQLAlchemyError) -> str:
    """Return what the driver says was wrong, in one line."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
