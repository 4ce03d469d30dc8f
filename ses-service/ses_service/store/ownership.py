"""The right to write a database.

A SQLite file is written by one process at a time: a lock on a file beside it says which.  A PostgreSQL
database is written by several services, and by one writer of each: an advisory lock of one session, and
everything is written through that session.  When it is gone, nothing can be written with a right that another
writer of the same service may have by now, and the others know that the service is gone.  Both locks end
with the process, however it ends.

Belongs to one thread at a time.
"""

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from ses_service.store.errors import DatabaseError, DatabaseInUseError, reason_of, whose

_HAS_IDLE_TIMEOUT = 140_000  # versions of PostgreSQL
_LOCKS = 0x5345534F  # services of one PostgreSQL database: the first number of their locks
_LIVING = text(
    "select l.objid::bigint from pg_locks l where l.locktype = 'advisory' and l.classid = :locks"
    " and l.objsubid = 2 and l.granted"
    " and l.database = (select oid from pg_database where datname = current_database())"
)


class FileOwnership:
    """A lock on ``path``, a file that holds the id of the process that has it."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._file: IO[bytes] | None = None

    def take(self) -> None:
        """Take the lock."""
        if self._file is not None:
            return
        try:
            file = self._path.open("ab+", buffering=0)
        except OSError as error:
            raise DatabaseError(f"{error.strerror}{whose(self._path)}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read(20).decode("ascii", "replace").strip()
            file.close()
            raise _in_use(f"process {holder}" if holder else "another process") from None
        self._file = file
        with suppress(OSError):  # a full disk: the lock holds, it only does not say whose it is
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())

    def release(self) -> None:
        """Give the lock back; the file stays, since somebody may wait for it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give a connection to write with."""
        if self._file is None:
            raise DatabaseError("the right to write was not taken")
        with self._engine.connect() as connection:
            yield connection


class SessionOwnership:
    """An advisory lock of the service ``name``, 16 hexadecimal digits, and the session that has it."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._key = _key_of(name)
        self._session: Connection | None = None

    def take(self) -> None:
        """Take the lock in a session of its own."""
        if self._session is not None:
            return
        try:
            session = self._engine.connect()
        except SQLAlchemyError as error:
            raise DatabaseError(reason_of(error)) from error
        self._session = session
        lock = {"locks": _LOCKS, "key": self._key - 2**32 * (self._key >= 2**31)}
        try:
            with session.begin():
                _let_idle(session)
                taken = session.execute(text("select pg_try_advisory_lock(:locks, :key)"), lock).scalar()
        except SQLAlchemyError as error:
            self.release()
            raise DatabaseError(reason_of(error)) from error
        if not taken:
            self.release()
            raise DatabaseInUseError("an earlier writer of this service has not ended there yet")

    def release(self) -> None:
        """End the session, and the lock with it."""
        session, self._session = self._session, None
        if session is not None:
            session.invalidate()
            session.close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give the session that has the lock; after an error it is ended."""
        if self._session is None:
            raise DatabaseError("the right to write was not taken")
        try:
            yield self._session
        except BaseException:
            self.release()
            raise


Ownership = FileOwnership | SessionOwnership
"""The right to write; all but ``release`` raise DatabaseError, ``take`` DatabaseInUseError."""


def _let_idle(session: Connection) -> None:
    """Keep the server from ending the session, and the lock with it, where nothing changes for long."""
    driver = session.connection.driver_connection
    if driver is not None and driver.info.server_version >= _HAS_IDLE_TIMEOUT:
        session.execute(text("set idle_session_timeout = 0"))


def living(connection: Connection, names: Collection[str]) -> set[str]:
    """Return which of these services have their lock on a PostgreSQL database."""
    keys = set(connection.execute(_LIVING, {"locks": _LOCKS}).scalars())
    return {name for name in names if name and _key_of(name) in keys}


def _key_of(name: str) -> int:
    return int(name[:8], 16)


def _in_use(holder: str) -> DatabaseInUseError:
    return DatabaseInUseError(
        f"it is in use by {holder}, and one service at a time writes a SQLite file; "
        "several services share a PostgreSQL database (docs/ledger.md)"
    )
