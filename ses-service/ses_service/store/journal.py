"""Writes behind: what the ledger learns is in the database a moment later, and no decision waits for it.

A thread stores all that changed in one transaction: every 250 ms, every 100 ms where other services on the
database wait to count it, and within 50 ms where somebody waits for it.  Who does takes a
:meth:`Journal.hurry` and compares it with :attr:`Journal.stored` later.

A database that fails takes nothing away but memory over a restart: the ledger goes on, the ids of what
changed are kept, up to ``MAX_WAITING`` of them, and what ended, and written when the database answers again;
if there are more, or another service took our placements over meanwhile, everything that is in memory is
written anew.  It is reported once in the log, in every answer, and by ``/readyz``.

A file that is damaged is set aside and a new one begun, with all that is in memory.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import structlog

from ses_service.ledger.ledger import MAX_UNTAKEN
from ses_service.ledger.placement import Placement, PlacementState
from ses_service.ledger.size_history import KEPT, SizeKey
from ses_service.state.ledger_access import LedgerAccess
from ses_service.store import notifications
from ses_service.store.errors import DatabaseDamagedError, DatabaseError, DatabaseUrlError
from ses_service.store.records import RecordStore
from ses_service.store.set_aside import repair_command
from ses_service.threads.loop import Loop

T = TypeVar("T")

# Seconds between two transactions, each of which costs as much as the rows of a hundred files.
PACE = 0.25
SHARED_PACE = 0.1
_HURRIED_PACE = 0.05
_PAUSE = 0.01
MAX_WAITING = MAX_UNTAKEN  # the ledger keeps no more that ended
_AT_ONCE = 1000
_LATE = 5.0
_RETRY = (0.25, 0.5, 1.0, 2.0, 5.0)
_LAST_WORDS = 5.0
_FORGET_EVERY = 600.0

_log = structlog.get_logger("ses_service")


@dataclass(frozen=True, slots=True)
class JournalStatus:
    """How the service stands with its database.

    ``waiting`` is how many records are not stored yet, ``lag`` for how many seconds the oldest of them
    has waited, ``failures`` how many transactions failed.
    """

    name: str
    ok: bool
    detail: str
    waiting: int
    lag: float
    failures: int


class Journal:
    """Keeps a database up to date with the ledger.

    Files that ended more than ``keep_files`` seconds ago are removed; ``now`` is the clock.

    ``peers`` is how many other services wait for what is stored.
    Any thread may call ``mark``, ``hurry``, ``stored``, ``settle``, ``status``, ``notes`` and ``explained``.
    """

    def __init__(
        self,
        ledger: LedgerAccess,
        store: RecordStore,
        clock: Callable[[], float] = time.monotonic,
        keep_files: float = math.inf,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.peers = 0
        self._keep_files = keep_files
        self._now = now
        self._forget_next = 0.0
        self._ledger = ledger
        self._store = store
        self._clock = clock
        self._changed = ledger.follow()
        self._changed_sizes = ledger.follow_sizes()
        self._inherited: set[str] | None = None
        self._arrived = set[str]()
        self._left = set[str]()
        if store.database.shared:
            self._inherited, self._arrived, self._left = ledger.share()
        self._unstored: dict[str, Placement] = {}
        self._learned: dict[SizeKey, deque[float]] = {}
        self._gone: list[str] = []
        self._lock = threading.Lock()
        self._marked = 0
        self._stored = 0
        self._hurried = False
        self._stored_at = -math.inf
        self._stopped = False
        self._loop = Loop("journal", self._look)
        self._loaded = False
        self._whole = False
        self._failed: str | None = "not opened yet"
        self._damage: DatabaseDamagedError | None = None
        self._tries = 0
        self._failures = 0
        self._behind_since: float | None = None

    def start(self) -> None:
        """Read what the database holds, and keep it up to date from then on.

        Goes on without a database that does not answer.  Raises DatabaseUrlError for one that can never
        be used.
        """
        try:
            self._open()
        except DatabaseError as error:
            self._fail(error)
        else:
            self._failed = None
        self._loop.start()

    def stop(self) -> None:
        """Store what is left, if the database answers, and end."""
        if self._stopped:
            return
        ended = self._loop.stop(_LAST_WORDS)
        self._stopped = True
        if ended and self._failed is None:
            self._step()

    def mark(self) -> int:
        """Return a number for all that changed until now; it grows with each call."""
        with self._lock:
            self._marked += 1
            return self._marked

    def hurry(self) -> int:
        """Return a mark that is stored soon: somebody waits for it."""
        marked = self.mark()
        self._hurried = True
        return marked

    @property
    def stored(self) -> int:
        """The highest mark such that all that had changed at it is stored."""
        return self._stored

    def settle(self, patience: float = 1.0) -> bool:
        """Wait until all that changed until now is stored; return False where that takes longer.

        A database that is away is not waited for: what changed is in memory then.
        """
        mark, until = self.hurry(), time.monotonic() + patience
        while self._stored < mark and self._loop.is_running and self._failed is None:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE)
        return True

    def adopt(self, gone: list[str]) -> None:
        """Take over soon what these services left."""
        self._gone = gone

    @property
    def damaged_files(self) -> list[Path]:
        """The files that were set aside and not repaired."""
        return self._store.database.damaged_files

    @property
    def status(self) -> JournalStatus:
        """How the service stands with its database."""
        waiting = len(self._changed) + len(self._changed_sizes)
        since = self._behind_since
        lag = 0.0 if since is None else max(0.0, self._clock() - since)
        late = f"what changed {lag:.0f} s ago is not stored yet" if lag > _LATE else "up to date"
        return JournalStatus(
            name=self._store.database.name,
            ok=self._failed is None,
            detail=self._failed or late,
            waiting=waiting,
            lag=lag,
            failures=self._failures,
        )

    def notes(self) -> list[str]:
        """Return what a person reading an answer should know."""
        if self._failed is None:
            return []
        return [
            "The database cannot be written, so the record of placements is kept in memory only: "
            f"{self._failed}."
        ]

    def explained(self, placement: Placement) -> Placement:
        """Return a placement with its explanation, from the database if it is not in memory."""
        if placement.candidates or placement.refused or self._failed is not None:
            return placement
        try:
            explanation = self._store.explanation(placement.placement_id)
        except DatabaseError as error:
            if isinstance(error, DatabaseDamagedError):
                self._damage = error
            return placement
        return placement.replaced(
            requirements=explanation.requirements,
            candidates=explanation.candidates,
            refused=explanation.refused,
        )

    def _look(self) -> float:
        """Store what changed if it is time to."""
        pace = SHARED_PACE if self.peers else PACE
        return self._step() if self._hurried or self._clock() >= self._stored_at + pace else _HURRIED_PACE

    def _step(self) -> float:
        self._hurried = False
        self._stored_at = self._clock()
        marked = self._marked
        try:
            self._inherit()
            self._ledger.learn()
            self._write()
            self._forget()
        except (DatabaseError, DatabaseUrlError) as error:
            self._fail(error)
            return _RETRY[min(self._tries, len(_RETRY)) - 1]
        self._stored = marked
        return _HURRIED_PACE

    def _inherit(self) -> None:
        """Read what was known of files that another service placed, before anything is made of it."""
        if self._inherited is None or self._failed is not None:
            return
        for ids in _parts(self._ledger.drain(self._inherited), _AT_ONCE):
            self._ledger.inherit(self._store.of_ids(ids))

    def _write(self) -> None:
        if self._failed is not None or self._damage is not None:
            self._open()
        elif self._gone or self._left:
            self._load(self._gone)
        if self._whole:
            self._write_all()
        else:
            self._write_changes()
        self._behind_since = None
        if self._failed is not None:
            _log.info("database answers again", database=self._store.database.name)
            self._failed, self._tries = None, 0

    def _forget(self) -> None:
        """Remove files that ended too long ago, some at a time."""
        now = self._now()
        if math.isinf(self._keep_files) or now < self._forget_next:
            return
        if not self._store.forget_files(now - self._keep_files):
            self._forget_next = now + _FORGET_EVERY

    def _open(self) -> None:
        if self._damage is not None:
            self._store.set_aside()
            _log.error(
                "ledger damaged, set aside, and begun anew",
                database=self._store.database.name,
                detail=str(self._damage),
                kept=str(self.damaged_files[-1]),
                mend=f"stop the service and run: {repair_command(self.damaged_files[-1])}",
            )
            self._damage = None
        if self._store.open() and self._loaded:
            return
        self._whole = self._whole or self._loaded
        self._load(None)
        self._loaded = True

    def _load(self, gone: list[str] | None) -> None:
        left = self._ledger.drain(self._left)
        try:
            loaded = self._store.load(gone, left)
        except BaseException:
            self._ledger.put_back(self._left, left)
            raise
        self._gone = []
        for part in _parts(loaded.placements, _AT_ONCE):
            self._ledger.restore(part)
        self._ledger.forget_peer_placements(left)  # what was not open any more
        self._ledger.restore_sizes(loaded.sizes)
        _log.info(
            "ledger read",
            database=self._store.database.name,
            placements=len(loaded.placements),
            sizes=len(loaded.sizes),
            unreadable=loaded.unreadable,
        )

    def _write_changes(self) -> None:
        changes, keys = self._take_changes(), self._ledger.drain(self._changed_sizes)
        if not changes and not keys and not self._arrived:
            return
        if self._behind_since is None:
            self._behind_since = self._clock()
        try:
            self._store.write(
                changes,
                self._ledger.sizes_of(keys),
                notifications=self._notifications(changes),
            )
        except BaseException:
            self._keep_for_later(changes, keys)
            raise
        self._learned.clear()
        self._ledger.put_back(self._changed, self._unstored)  # the ledger dropped them meanwhile
        self._unstored.clear()

    def _take_changes(self) -> list[tuple[str, Placement | None]]:
        """Take what changed; what ended and was dropped before it could be stored is as it stood last.

        Each placement comes once, however often it changes while others are taken: a statement must not have
        a row twice.
        """
        changes: dict[str, Placement | None] = {}
        left = len(self._changed)
        while left > 0 and (part := self._ledger.drain_placements(self._changed, _AT_ONCE)):
            left -= len(part)
            for placement_id, placement in part:
                before = self._unstored.pop(placement_id, None)
                if placement is None:
                    before = before or changes.get(placement_id)
                    if before is not None and before.state is PlacementState.ENDED:
                        self._unstored[placement_id] = placement = before
                changes[placement_id] = placement
        return list(changes.items())

    def _write_all(self) -> None:
        self._ledger.drain(self._changed)
        self._ledger.drain(self._changed_sizes)
        ids, keys = self._ledger.everything()
        changes = [change for part in _parts(ids, _AT_ONCE) for change in self._ledger.current(part)]
        self._store.write(
            [change for change in changes if change[1] is not None],
            self._ledger.sizes_of(keys),
            whole=True,
            notifications=self._notifications(changes),
        )
        self._whole = False
        self._learned.clear()
        self._unstored.clear()

    def _notifications(self, changes: list[tuple[str, Placement | None]]) -> list[str]:
        """Return what other services on the database are notified of: changes, and sizes learned by now."""
        if self._inherited is None:
            return []
        for key, sizes in self._ledger.take_learned().items():
            self._learned.setdefault(key, deque(maxlen=KEPT)).extend(sizes)
        arrived = self._ledger.drain(self._arrived)
        nodes = {placement.node or "" for _, placement in changes if placement is not None}
        now, last_announcements = self._ledger.last_announcements(nodes.union(arrived))
        return notifications.texts(
            self._store.database.owner, changes, self._learned, now, last_announcements
        )

    def _keep_for_later(self, changes: list[tuple[str, Placement | None]], keys: list[SizeKey]) -> None:
        self._unstored.update(
            (placement_id, placement)
            for placement_id, placement in changes
            if placement is not None and placement.state is PlacementState.ENDED
        )
        self._ledger.put_back(self._changed, [placement_id for placement_id, _ in changes])
        self._ledger.put_back(self._changed_sizes, keys)

    def _fail(self, error: Exception) -> None:
        first = self._tries == 0
        if isinstance(error, DatabaseDamagedError):
            self._damage = error
        self._failed = str(error)
        self._tries += 1
        self._failures += 1
        if self._behind_since is None:
            self._behind_since = self._clock()
        if first:
            _log.error(
                "database failed; the ledger is in memory only",
                database=self._store.database.name,
                detail=str(error),
            )
        if len(self._changed) > MAX_WAITING:
            self._whole = True
        if self._whole:
            self._ledger.drain(self._changed)
            self._ledger.drain(self._changed_sizes)
            self._unstored.clear()


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
