"""Takes the notifications of other services on a PostgreSQL database, and notices when one is gone.

A thread listens.  It reads what is stored of the others when it begins, and again whenever its connection was
lost; from then on each reports what changed, in the order of its transactions.  A service lives as long as
the session of its writer has its lock; no clock is compared.  One that lost it may only have lost its
database, so it has some time to come back before another service takes its placements over.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from ses_service.ledger.peer_placements import NodeNotification
from ses_service.state.ledger_access import LedgerAccess
from ses_service.store import notifications, writer
from ses_service.store.database import Listener
from ses_service.store.errors import DatabaseError
from ses_service.store.journal import Journal
from ses_service.store.records import RecordStore
from ses_service.store.tables import CHANNEL
from ses_service.threads.loop import Loop

GRACE = 10.0  # seconds without its lock after which a service is gone
_LOOK_EVERY = 2.0
_CUT_OFF = 10.0  # seconds without a connection after which what others reported does not count
_AT_ONCE = 0.5
_RETRY = 0.5
_PATIENCE = 2.0

_log = structlog.get_logger("ses_service")


class Peers:
    """The other services on our database.

    ``running`` is how many of them run, ``fault`` why nothing is received of them; any thread may read both.
    """

    def __init__(
        self,
        ledger: LedgerAccess,
        store: RecordStore,
        journal: Journal,
        now: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.running = 0
        self.fault = "the database was not asked yet"
        self._ledger = ledger
        self._store = store
        self._journal = journal
        self._now = now
        self._clock = clock
        self._loop = Loop("others", self._step)
        self._listener: Listener | None = None
        self._lost_at: float | None = None
        self._look_at = 0.0
        self._missed: dict[str, float] = {}
        self._mark = notifications.mark(store.database.owner)
        self._is_back = threading.Event()

    def start(self) -> None:
        """Begin to listen."""
        self._loop.start()

    def stop(self) -> None:
        """End."""
        if self._loop.stop(2 * _AT_ONCE) and self._listener is not None:
            self._listener.close()

    def catch_up(self) -> None:
        """Wait until all counts that other services stored before.  Raises DatabaseError where it may not."""
        self._is_back.clear()
        with self._store.database.transaction() as connection:
            writer.notify(connection, [self._mark])
        if not self._is_back.wait(_PATIENCE):
            raise DatabaseError("what other services store does not arrive")

    def _step(self) -> float:
        try:
            if self._listener is None:
                self._listen()
            self._take_notifications()
            if self._clock() >= self._look_at:
                self._look()
        except DatabaseError as error:
            self._lose(error)
            return _RETRY
        return 0.0

    def _listen(self) -> None:
        listener = self._store.database.listen(CHANNEL)
        try:
            self._ledger.keep_peers(self._store.peer_placements(self._now()))
            self._ledger.restore_sizes(self._store.sizes()[0])
        except BaseException:
            listener.close()
            raise
        self._listener, self._lost_at, self._look_at = listener, None, self._clock()
        self.fault = ""

    def _take_notifications(self) -> None:
        assert self._listener is not None
        own = self._store.database.owner
        for text in self._listener.notifications(_AT_ONCE):
            if notifications.is_sent_by(text, own):
                if text == self._mark:
                    self._is_back.set()
                continue
            try:
                notification = notifications.read(text, self._now())
            except ValueError as error:
                _log.warning("a notification of another service is not understood", detail=str(error))
                continue
            self._ledger.take_notification(
                replace(notification, nodes=[self._whole(of_node) for of_node in notification.nodes])
            )

    def _whole(self, notification: NodeNotification) -> NodeNotification:
        """Return the same with the elements of files that lie on more of them than are reported."""
        wide = {placement.placement_id for placement in notification.opened if not placement.elements}
        if not wide:
            return notification
        opened = [placement for placement in notification.opened if placement.elements]
        return replace(notification, opened=[*opened, *self._store.peer_placements(self._now(), wide)])

    def _look(self) -> None:
        """See who runs; let the journal take over what those left that are gone for long enough."""
        now = self._clock()
        self._look_at = now + _LOOK_EVERY
        registered, living = self._store.services()
        self.running = self._journal.peers = len(living)
        self._missed = {service: self._missed.get(service, now) for service in registered - living}
        if gone := [service for service, since in self._missed.items() if since + GRACE <= now]:
            self._journal.adopt(gone)
        self._ledger.forget_peers(registered)

    def _lose(self, error: DatabaseError) -> None:
        now, self.fault = self._clock(), str(error)
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            _log.warning("no notifications of other services", detail=str(error))
        if self._lost_at is None:
            self._lost_at = now
        if now >= self._lost_at + _CUT_OFF:
            self.running = 0
            self._missed.clear()
            self._ledger.forget_peers(())
