"""The service's database: engine, and bringing its tables up to date.

SQLite runs with a write-ahead log and ``synchronous=FULL``: a transaction that is committed survives the
end of the process and a power cut.  PostgreSQL does the same unless its administrator says otherwise.
No wait here is without a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

_MIGRATIONS = "ses_service.store:migrations"
_UPGRADE_LOCK = 0x5345534C  # one number for all services on one PostgreSQL database
_PATIENCE = 5  # seconds to connect, and for another writer of the same SQLite file to finish
_STATEMENT_MS = 10_000
_LOG_BYTES = 64 * 2**20
_READING = "qstorman_reading"


class DatabaseError(Exception):
    """The database does not answer, or cannot do what is asked of it now."""


class DatabaseUrlError(Exception):
    """The database can never be used as it is named or as it is; the message says what to do."""


class Database:
    """One database; thread-safe, connects when it is first used.

    ``password`` goes into the URL.  Raises DatabaseUrlError when the URL is not one that works here.
    """

    def __init__(self, url: str, password: str | None = None) -> None:
        self._url = _checked(url, password)
        self._engine = _engine(self._url)

    @property
    def name(self) -> str:
        """The URL without its password."""
        return self._url.render_as_string(hide_password=True)

    @contextmanager
    def transaction(self, *, reading: bool = False) -> Iterator[Connection]:
        """Give a connection; commits at the end, rolls back on an error.  Raises DatabaseError.

        One that is for ``reading`` waits for no writer.
        """
        try:
            with self._engine.connect() as connection:
                connection = connection.execution_options(**{_READING: reading})
                with connection.begin():
                    yield connection
        except (SQLAlchemyError, OSError) as error:
            raise DatabaseError(_reason(error)) from error

    def upgrade(self) -> tuple[str | None, str | None]:
        """Run missing migrations; return the revision before and after.

        Raises DatabaseError, and DatabaseUrlError when a later service has used this database.
        """
        with self.transaction() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
            before = MigrationContext.configure(connection).get_current_revision()
            self._check_known(before)
            command.upgrade(_config(connection), "head")
            return before, MigrationContext.configure(connection).get_current_revision()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _check_known(self, revision: str | None) -> None:
        known = {script.revision for script in ScriptDirectory.from_config(_config(None)).walk_revisions()}
        if revision is not None and revision not in known:
            raise DatabaseUrlError(
                f"{self.name} is at revision {revision}, which this service does not know: it was used by a "
                "later service. Start that one, or name another database."
            )


def _checked(url: str, password: str | None) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUrlError(f"the database URL cannot be read: {error}") from None
    if parsed.password is not None:
        raise DatabaseUrlError(
            "a password on the command line can be seen by everybody on this machine: put it into "
            "--database-password-file, PGPASSFILE or a PostgreSQL service file"
        )
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise DatabaseUrlError(f"the database URL names {backend}; use sqlite or postgresql+psycopg")
    if backend == "sqlite":
        if password is not None:
            raise DatabaseUrlError("SQLite has no password; leave --database-password-file out")
        if not parsed.database or parsed.database == ":memory:":
            raise DatabaseUrlError("name a file: sqlite:////var/lib/qstorman/ledger.db")
        return parsed
    return parsed.set(drivername="postgresql+psycopg", password=password)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": _PATIENCE})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    limits = {
        "connect_timeout": _PATIENCE,
        "tcp_user_timeout": _PATIENCE * 1000,
        "options": f"-c statement_timeout={_STATEMENT_MS} -c lock_timeout={_STATEMENT_MS}",
    }
    try:
        return create_engine(url, pool_size=2, max_overflow=0, pool_pre_ping=True, connect_args=limits)
    except ImportError as error:
        raise DatabaseUrlError(f"PostgreSQL cannot be used: {error}") from None


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, see _begin_sqlite
    cursor = connection.cursor()
    cursor.execute("pragma journal_mode=wal")
    cursor.execute("pragma synchronous=full")
    cursor.execute(f"pragma journal_size_limit={_LOG_BYTES}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock first, so that two of them wait for each other instead of failing.
    reading = connection.get_execution_options().get(_READING)
    connection.exec_driver_sql("begin" if reading else "begin immediate")


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return URL.create("sqlite", database=str(path.absolute())).render_as_string()
