"""The service's database: engine, transactions, and the right to write.

SQLite runs with a write-ahead log and ``synchronous=FULL``: a transaction that is committed survives the
end of the process and a power cut.  PostgreSQL does the same unless its administrator says otherwise.
No wait here is without a limit.
"""

from __future__ import annotations

import os
import secrets
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from ses_listen import deadline
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ses_service.store import set_aside
from ses_service.store.errors import DatabaseDamagedError, DatabaseError, DatabaseUrlError, reason_of, whose
from ses_service.store.ownership import FileOwnership, Ownership, SessionOwnership

_PATIENCE = 5  # seconds to connect, and for another writer of the same SQLite file to finish
_STATEMENT_MS = 10_000
_STEPS = 100_000  # of SQLite, some milliseconds, until it is asked whether the request has ended
_LOG_BYTES = 64 * 2**20
_READING = "qstorman_reading"
_TURNS = 0x5345535455524E53  # an advisory lock of PostgreSQL
_CONNECTIONS = (
    8  # one to write, one to listen, two for turns, one for each of the few threads that read explanations
)
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_ACCESS = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY}
_NOTICED = {  # seconds after which the server ends the session, and the lock, of a machine that is gone
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}


class Database:
    """One database; thread-safe but for writing, connects when it is first used.

    ``password`` goes into the URL.  ``owner`` names this use of it among others, by default by a name
    that nobody else has: 16 hexadecimal digits.  Raises DatabaseUrlError when the URL is not one that works
    here.
    """

    def __init__(self, url: str, password: str | None = None, owner: str | None = None) -> None:
        self._url = _checked(url, password)
        self._engine = _engine(self._url)
        self.owner = owner or secrets.token_hex(8)
        self._ownership = _ownership(self._engine, self._url, self.owner)
        self._file = _file_of(self._url)
        self._readers = threading.RLock()
        assert self._engine.dialect.dbapi is not None
        self._driver_errors = (self._engine.dialect.dbapi.Error,)

    @property
    def name(self) -> str:
        """The URL without its password."""
        return self._url.render_as_string(hide_password=True)

    @property
    def shared(self) -> bool:
        """Whether several services may write it."""
        return self._file is None

    def listen(self, channel: str) -> Listener:
        """Receive notifications of a PostgreSQL database from now on.  Raises DatabaseError."""
        return Listener(self._engine, channel)

    @property
    def rounds(self) -> bool:
        """Whether it rounds what becomes a whole number; SQLite cuts off, and need not know ``floor``."""
        return self._file is None

    @contextmanager
    def transaction(self, *, reading: bool = False) -> Iterator[Connection]:
        """Give a connection; commits at the end, rolls back on an error.  Raises DatabaseError.

        One that is for ``reading`` waits for no writer.
        """
        # Readers of a file take turns, so that none has it open when it is renamed.
        turn = self._readers if reading and self._file else nullcontext()
        with turn, self._begun(self._engine.connect, reading) as connection:
            yield connection

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close all connections, and let nobody read meanwhile."""
        with self._readers:
            self._engine.dispose()
            yield

    def set_aside(self) -> None:
        """Rename a damaged SQLite file, see :mod:`ses_service.store.set_aside`.

        For the writer alone.  Raises DatabaseError.
        """
        if self._file is None:
            raise DatabaseError(f"{self.name} is no file")
        with self.closed():
            set_aside.set_aside(self._file)

    @property
    def damaged_files(self) -> list[Path]:
        """The files that were set aside in place of this database and not repaired."""
        return [] if self._file is None else set_aside.set_aside_files(self._file)

    def own(self) -> None:
        """Take the right to write, see :mod:`ses_service.store.ownership`; nothing changes when we have it.

        Raises DatabaseError, and DatabaseInUseError when somebody else has it.
        """
        self._ownership.take()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give the connection of the writer; as ``transaction``, for one thread at a time."""
        with self._begun(self._ownership.connection, False) as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the block run in one service at a time, of those that share a PostgreSQL database.

        Raises DatabaseError, also where the others take too long.
        """
        with self.transaction() as connection:
            connection.execute(text("select pg_advisory_xact_lock(:turns)"), {"turns": _TURNS})
            yield

    def close(self) -> None:
        """Close all connections, and give back the right to write."""
        self._ownership.release()
        self._engine.dispose()

    @contextmanager
    def _begun(
        self, connect: Callable[[], AbstractContextManager[Connection]], reading: bool
    ) -> Iterator[Connection]:
        try:
            with connect() as connection:
                connection = connection.execution_options(**{_READING: reading})
                with connection.begin():
                    yield connection
        except (SQLAlchemyError, OSError, *self._driver_errors) as error:
            deadline.check()
            raise _named(error, self._file) from error


class Listener:
    """A connection that takes notifications of a channel.  Belongs to one thread; raises DatabaseError."""

    def __init__(self, engine: Engine, channel: str) -> None:
        assert engine.dialect.dbapi is not None
        self._errors = engine.dialect.dbapi.Error, OSError
        try:
            connection = engine.raw_connection()
        except (SQLAlchemyError, *self._errors) as error:
            raise _named(error, None) from error
        driver = connection.driver_connection
        assert driver is not None
        self._driver: Any = driver
        connection.detach()  # it is not given back to the pool
        try:
            self._driver.autocommit = True
            self._driver.execute(f"listen {channel}")
        except self._errors as error:
            self.close()
            raise DatabaseError(reason_of(error)) from error

    def notifications(self, seconds: float) -> Iterator[str]:
        """Yield the notifications of the next ``seconds``, each at once; see that the server still runs."""
        try:
            self._driver.execute("select")
            for notification in self._driver.notifies(timeout=seconds):
                yield notification.payload
        except self._errors as error:
            raise DatabaseError(reason_of(error)) from error

    def close(self) -> None:
        """End the connection."""
        with suppress(*self._errors):
            self._driver.close()


def driver_of(connection: Connection) -> Any:
    """Return the connection of the driver, whose ``execute`` takes less time than SQLAlchemy's."""
    return connection.connection.driver_connection


@contextmanager
def at_once(connection: Connection) -> Iterator[None]:
    """Send PostgreSQL the statements of the block one after the other; none has a result before its end."""
    pipeline = getattr(driver_of(connection), "pipeline", nullcontext)
    with pipeline():
        yield


def _named(error: Exception, file: Path | None) -> DatabaseError:
    reason = reason_of(error)
    driver = getattr(error, "orig", None)
    code = (getattr(driver, "sqlite_errorcode", None) or 0) & 0xFF
    if code in _DAMAGE or (isinstance(driver, sqlite3.Error) and "decode to UTF-8" in reason):
        return DatabaseDamagedError(reason)
    if code in _NO_ACCESS and file is not None:
        reason += whose(file)
    return DatabaseError(reason)


def _file_of(url: URL) -> Path | None:
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def _checked(url: str, password: str | None) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUrlError(f"the database URL cannot be read: {error}") from None
    if parsed.password is not None or any("password" in name.lower() for name in parsed.query):
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
        if not parsed.database or parsed.database.startswith((":", "file:")):
            raise DatabaseUrlError("name a file: sqlite:////var/lib/qstorman/ledger.db")
        return parsed
    return parsed.set(drivername="postgresql+psycopg", password=password)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": _PATIENCE})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    settings = {"statement_timeout": _STATEMENT_MS, "lock_timeout": _STATEMENT_MS, **_NOTICED}
    limits = {
        "connect_timeout": _PATIENCE,
        "tcp_user_timeout": _PATIENCE * 1000,
        "client_encoding": "utf8",  # a database without an encoding (SQL_ASCII) answers with bytes otherwise
        "application_name": f"ses-service, process {os.getpid()} on {socket.gethostname()}"[:63],
        "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
    }
    try:
        engine = create_engine(
            url,
            pool_size=_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_PATIENCE,
            pool_pre_ping=True,
            connect_args=limits,
        )
    except ImportError as error:
        raise DatabaseUrlError(f"PostgreSQL cannot be used: {error}") from None
    event.listen(engine, "do_connect", _bounded)
    return engine


def _bounded(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
    from ses_service.store.bounded_session import BoundedSession  # a service on SQLite needs no psycopg

    return BoundedSession.connect(*arguments, **options)


def _ownership(engine: Engine, url: URL, owner: str) -> Ownership:
    if url.get_backend_name() == "sqlite":
        return FileOwnership(engine, Path(f"{url.database}-lock"))
    return SessionOwnership(engine, owner)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, see _begin_sqlite
    connection.set_progress_handler(lambda: not deadline.left(), _STEPS)
    cursor = connection.cursor()
    cursor.execute("pragma journal_mode=wal")
    cursor.execute("pragma synchronous=full")
    cursor.execute(f"pragma journal_size_limit={_LOG_BYTES}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock first, so that two of them wait for each other instead of failing.
    reading = connection.get_execution_options().get(_READING)
    connection.exec_driver_sql("begin" if reading else "begin immediate")


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return URL.create("sqlite", database=str(path.absolute())).render_as_string()
