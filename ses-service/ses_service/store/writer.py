"""Writes rows into one database: the half of a store that costs time, and can do so in another process.

:func:`main` is a program that serves a :class:`ses_service.store.writer_process.WriterProcess` over its
standard input and output.  It ends when that hangs up and not by a signal, so that what was handed over is
stored.

Belongs to one thread at a time.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from typing import Any, BinaryIO

import sqlalchemy as sa

from ses_service.store.database import Database
from ses_service.store.errors import DatabaseError, DatabaseInUseError, DatabaseUrlError
from ses_service.store.parts import ADOPT, ADOPT_OPEN, NOTIFY, SAVE, SET_ASIDE, Part
from ses_service.store.revisions import upgrade
from ses_service.store.tables import CHANNEL, EXPLANATION, FILE, FILE_DETAIL, PLACEMENT, SERVICE, SIZE_HISTORY
from ses_service.store.upsert import upsert

_NOTIFY = sa.text("select pg_notify(:channel, text) from unnest(cast(:texts as text[])) as text")
_KEYS_AT_ONCE = 500
_PREDECESSOR = 1.0  # seconds in which the writer of a service that was killed ends
_LOOK = 0.05
_NICE = 5  # the process that answers goes first where there are few processors
_SAVED = {
    EXPLANATION.name: (EXPLANATION, ("body",)),
    PLACEMENT.name: (PLACEMENT, ("explanation_id",)),
    SIZE_HISTORY.name: (SIZE_HISTORY, ()),
    FILE.name: (FILE, ()),
    FILE_DETAIL.name: (FILE_DETAIL, ()),
}


class Writer:
    """Writes a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self) -> bool:
        """Take the right to write and bring the tables up to date; return whether they are as we left them.

        They are not when they were missing, or when another service took ours over.  Raises DatabaseError,
        DatabaseInUseError and DatabaseUrlError.
        """
        self._database.own()
        before, after = upgrade(self._database)
        with self._database.writing() as connection:
            named = sa.select(SERVICE.c.service).where(SERVICE.c.service == self._database.owner)
            ours = connection.execute(named).scalar() is not None
            if not ours:
                connection.execute(sa.insert(SERVICE).values(service=self._database.owner))
                used = sa.select(PLACEMENT.c.explanation_id).where(PLACEMENT.c.explanation_id.is_not(None))
                connection.execute(sa.delete(EXPLANATION).where(EXPLANATION.c.explanation_id.not_in(used)))
        return ours and before == after

    def set_aside(self) -> bool:
        """Rename a damaged file, so that ``open`` makes a new one.  Raises DatabaseError."""
        self._database.own()
        self._database.set_aside()
        return True

    def write(self, parts: Iterable[Part], between: Callable[[], None] = lambda: None) -> None:
        """Write all parts in one transaction.

        ``between`` is called whenever another thread may well go first.  Raises DatabaseError.
        """
        with self._database.writing() as connection:
            for action, values, name in parts:
                if action == SAVE:
                    table, keep = _SAVED[name]
                    upsert(connection, table, values, keep, between)
                elif action == NOTIFY:
                    if values:
                        connection.execute(_NOTIFY, {"channel": CHANNEL, "texts": list(values)})
                elif action == ADOPT:
                    self._adopt(connection, values)
                elif action == ADOPT_OPEN:
                    self._adopt_open(connection, values)
                else:
                    self._remove(connection, _SAVED[name][0], values, between)

    def _adopt(self, connection: sa.Connection, services: Sequence[str]) -> None:
        connection.execute(sa.delete(SERVICE).where(SERVICE.c.service.in_(services)))
        theirs = sa.update(PLACEMENT).where(PLACEMENT.c.service.in_(services))
        connection.execute(theirs.values(service=self._database.owner))

    def _adopt_open(self, connection: sa.Connection, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _KEYS_AT_ONCE):
            named = PLACEMENT.c.placement_id.in_(ids[start : start + _KEYS_AT_ONCE])
            left_open = sa.update(PLACEMENT).where(named, PLACEMENT.c.ended_at.is_(None))
            connection.execute(left_open.values(service=self._database.owner))

    def _remove(
        self, connection: sa.Connection, table: sa.Table, keys: Sequence[str], between: Callable[[], None]
    ) -> None:
        (key,) = table.primary_key.columns
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            between()
            removed = sa.delete(table).where(key.in_(keys[start : start + _KEYS_AT_ONCE]))
            if table is PLACEMENT:  # another service may have taken it over
                removed = removed.where(PLACEMENT.c.service == self._database.owner)
            connection.execute(removed)

    def close(self) -> None:
        """Close all connections, and give back the right to write."""
        self._database.close()


def serve(requests: BinaryIO, answers: Pipe) -> None:
    """Do what is asked until the other side hangs up.

    First comes what :class:`Database` is made of.  Then ``"open"``, ``"set aside"``, or parts up to ``None``.
    Each is answered by its result, or by the name of an error's class and its message.
    """
    writer: Writer | None = None
    try:
        writer = Writer(Database(*_next(requests)))
        while True:
            asked = _next(requests)
            answers.send(_answer(writer, requests, asked))
    except (EOFError, BrokenPipeError):
        pass
    finally:
        if writer is not None:
            writer.close()


def _next(requests: BinaryIO) -> Any:
    """Return the next message; raises EOFError when the other side has hung up, also amid one."""
    try:
        return pickle.load(requests)
    except pickle.UnpicklingError as error:
        raise EOFError from error


def _answer(writer: Writer, requests: BinaryIO, asked: str | Part) -> bool | tuple[str, str]:
    parts = iter(()) if isinstance(asked, str) else _parts(asked, requests)
    try:
        if isinstance(asked, str):
            return writer.set_aside() if asked == SET_ASIDE else _opened(writer)
        writer.write(parts)
        return True
    except EOFError:
        raise
    except Exception as error:
        for _ in parts:  # the other side reads the answer when it has sent everything
            pass
        known = isinstance(error, (DatabaseError, DatabaseUrlError))
        return type(error).__name__ if known else DatabaseError.__name__, str(error)


def _opened(writer: Writer) -> bool:
    until = time.monotonic() + _PREDECESSOR
    while True:
        try:
            return writer.open()
        except DatabaseInUseError:
            if time.monotonic() > until:
                raise
        time.sleep(_LOOK)


def _parts(first: Part, requests: BinaryIO) -> Iterator[Part]:
    part: Part | None = first
    while part is not None:
        yield part
        part = _next(requests)


def main() -> None:
    """Serve the process that started this one."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(_NICE)
    answers = Pipe(os.dup(sys.stdout.fileno()), readable=False)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anything prints is no answer
    serve(sys.stdin.buffer, answers)
