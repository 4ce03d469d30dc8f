"""Turns of services on a PostgreSQL database: who has the turn knows all that the others gave, and they wait.

So that no two give the last room of an element, places of a stated size are given in a turn.  It is a lock
of the database, which ends with its session.  All who wait in a service have the same turn; it ends once
what they changed is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ses_service.store.database import Database
from ses_service.store.errors import DatabaseError
from ses_service.store.peers import Peers
from ses_service.threads.loop import Loop

LONGEST = 5.0  # seconds; requests give up before
_LOOK_EVERY, _RETRY = 1.0, 0.1


class Turns:
    """The turns of a service.  ``answers``: the database does; while it is away nobody waits for a turn."""

    def __init__(self, database: Database, peers: Peers, answers: Callable[[], bool]) -> None:
        self._database = database
        self._peers = peers
        self._answers = answers
        self._changed = threading.Condition()
        self._waiting = set[object]()
        self._having = set[object]()
        self._loop = Loop("turns", self._step)
        self.start, self.stop = self._loop.start, self._loop.stop

    @contextmanager
    def taken(self) -> Iterator[Callable[[], bool]]:
        """Wait for a turn, and have it, in the block; gives what says whether it has begun.  Any thread."""
        one = object()
        with self._changed:
            self._waiting.add(one)
            self._changed.notify_all()
        try:
            yield lambda: one in self._having
        finally:
            with self._changed:
                self._waiting.discard(one)
                self._having.discard(one)
                self._changed.notify_all()

    def _step(self) -> float:
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, _LOOK_EVERY):
                return 0.0
        try:
            with self._database.alone():
                self._peers.catch_up()
                self._have()
        except DatabaseError:
            if self._answers():
                return _RETRY
            self._have()
        return 0.0

    def _have(self) -> None:
        with self._changed:
            self._having, self._waiting = self._waiting, set()
            self._changed.wait_for(lambda: not self._having, LONGEST)
            self._having = set()
