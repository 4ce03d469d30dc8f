"""Turns of services on a PostgreSQL database: who has the turn knows all that the others gave, and they wait.

So that no two give the last room of an element, places of a stated size are given in a turn.  It is a lock
of the database, which ends with its session.  All that wait in a service are given in one turn; it ends once
they are stored.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ses_service.store.database import Database
from ses_service.store.errors import DatabaseError
from ses_service.store.journal import Journal
from ses_service.store.peers import Peers
from ses_service.threads.loop import Loop

T = TypeVar("T")
_LONGEST = 5.0  # seconds
_LOOK_EVERY, _RETRY = 1.0, 0.1


class Turns:
    """The turns of a service; while the database is away nobody waits for one."""

    def __init__(self, database: Database, peers: Peers, journal: Journal) -> None:
        self._database = database
        self._peers = peers
        self._journal = journal
        self._changed = threading.Condition()
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._loop = Loop("turns", self._step)
        self.start, self.stop = self._loop.start, self._loop.stop

    def take(self, work: Callable[[], T]) -> Future[T]:
        """Call ``work`` in a turn, unless it is cancelled before; it is done when that is stored.

        DatabaseError is its end where the database takes too long.
        """
        future: Future[T] = Future()
        with self._changed:
            self._waiting.append((future, work))
            self._changed.notify()
        return future

    def _step(self) -> float:
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, _LOOK_EVERY):
                return 0.0
        try:
            with self._database.alone():
                self._peers.catch_up()
                self._work()
        except DatabaseError:
            if self._journal.status.ok:
                return _RETRY
            self._work()
        return 0.0

    def _work(self) -> None:
        with self._changed:
            waiting, self._waiting = self._waiting, []
        given = []
        for future, work in waiting:
            if future.set_running_or_notify_cancel():
                try:
                    given.append((future, work()))
                except Exception as error:
                    future.set_exception(error)
        is_stored = not given or self._journal.settle(_LONGEST)
        for future, result in given:
            if is_stored:
                future.set_result(result)
            else:
                future.set_exception(DatabaseError("it takes too long"))
