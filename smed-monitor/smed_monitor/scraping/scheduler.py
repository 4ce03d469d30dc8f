"""When each target is scraped: all spread evenly over the interval, none waiting for another.

One thread begins the scrapes of one tick together: it asks all of their targets, then reads whichever
answers, and however many do not, they cost nothing but memory.  A target that cannot be asked without
waiting (no connection yet, TLS, files of this node) is left to a bounded pool.  A target never has two
scrapes under way: one that is due while the last one runs is skipped.  A target whose last scrape ran out
of time is a suspect and left to the pool too, where suspects together get at most half of the workers, so
that the others keep their rhythm.
"""

import heapq
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from queue import SimpleQueue
from typing import NamedTuple

import structlog

from smed_monitor.collectors.base import Arrival
from smed_monitor.core.errors import DeadlineError
from smed_monitor.core.model import Outcome
from smed_monitor.scraping.scrape import Scraper

TICK_SECONDS = 0.02
"""Scrapes due this close to each other begin together: ten answers parsed one after the other cost half of
what they cost one at a time, each by a thread that has slept."""
MAX_ASKED = 64
"""Answers waited for at a time by the scheduler's thread; what is due beyond goes to the pool."""

log = structlog.get_logger(__name__)


class Asked(NamedTuple):
    """Whose answer is waited for, and until when (monotonic)."""

    target: int
    over: float


class Scheduler:
    """Runs until stopped.  ``publish`` gets every outcome, ``skip`` the name for every skipped scrape."""

    def __init__(
        self,
        scrapers: Sequence[Scraper],
        *,
        interval_seconds: float,
        concurrent_scrapes: int,
        publish: Callable[[Outcome], None],
        skip: Callable[[str], None],
    ) -> None:
        self._scrapers = tuple(scrapers)
        self._interval = interval_seconds
        self._tick = min(TICK_SECONDS, interval_seconds / 10)
        self._publish = publish
        self._skip = skip
        self._stopping = threading.Event()
        self._stopped = os.eventfd(0, os.EFD_CLOEXEC)
        self._asked: dict[int, Asked] = {}
        self._poll = select.poll()
        self._poll.register(self._stopped, select.POLLIN)
        self._lock = threading.Lock()
        self._busy: set[int] = set()
        self._suspects: set[int] = set()
        # Plain threads: a pool makes a future and its lock for each scrape.  The worker that became idle last
        # gets the next scrape, so that few threads work, with warm caches, while nothing hangs.
        self._backlog: deque[int] = deque()
        self._idle: list[SimpleQueue[bool]] = []
        workers = max(2, min(concurrent_scrapes, 2 * len(self._scrapers)))
        self._inboxes: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(workers)]
        self._workers = [
            threading.Thread(target=self._work, args=(inbox,), name=f"scrape-{number}", daemon=True)
            for number, inbox in enumerate(self._inboxes)
        ]
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Begin; the first target is scraped at once."""
        for worker in self._workers:
            worker.start()
        self._thread.start()

    def stop(self) -> None:
        """Begin no more scrapes and wait for the pool's, which their time-outs bound."""
        self._stopping.set()
        if self._stopped >= 0:
            os.eventfd_write(self._stopped, 1)
        if self._thread.is_alive():
            self._thread.join()
        for inbox in self._inboxes:
            inbox.put(False)
        for worker in self._workers:
            if worker.is_alive():
                worker.join()
        for scraper in self._scrapers:
            scraper.close()
        if self._stopped >= 0:
            os.close(self._stopped)
            self._stopped = -1

    @property
    def running(self) -> bool:
        """Whether scrapes are being begun."""
        return self._thread.is_alive()

    def _run(self) -> None:
        first = first_due(time.monotonic(), self._interval, len(self._scrapers))
        schedule = [(due, index) for index, due in enumerate(first)]
        over = 0.0
        while not self._stopping.is_set():
            moment = time.monotonic()
            if moment >= over:
                while schedule[0][0] <= moment + self._tick:
                    due, index = schedule[0]
                    self._begin(index)
                    heapq.heapreplace(schedule, (next_due(due, moment, self._interval), index))
                self._give_up(moment)
                waiting = self._wake_one() or self._asked
                over = moment + self._tick if waiting else schedule[0][0]
            self._read_until(over)

    def _begin(self, index: int) -> None:
        """Ask the target, or leave it to the pool; skip it where the last scrape is not over."""
        with self._lock:
            suspect = index in self._suspects
            held_back = suspect and len(self._busy & self._suspects) >= len(self._workers) // 2
            skipped = index in self._busy or held_back
            if not skipped:
                self._busy.add(index)
        if skipped:
            self._skip(self._scrapers[index].target.name)
        elif suspect or len(self._asked) >= MAX_ASKED or (descriptor := self._scrapers[index].ask()) is None:
            self._leave(index)
        else:
            over = time.monotonic() + self._scrapers[index].target.timeout_seconds
            self._asked[descriptor] = Asked(index, over)
            self._poll.register(descriptor, select.POLLIN)

    def _read_until(self, over: float) -> None:
        """Wait once for answers, at most until ``over``, and read those that are whole."""
        whole = []
        for descriptor, _ in self._poll.poll(max(0, ceil((over - time.monotonic()) * 1000))):
            if descriptor == self._stopped:
                return
            index = self._asked[descriptor].target
            arrival = self._scrapers[index].arrived()
            if arrival is Arrival.PARTLY:
                continue
            self._forget(descriptor)
            if arrival is Arrival.WHOLE:
                whole.append(index)
            else:
                self._leave(index)
        for index in whole:
            self._scrape(index)

    def _give_up(self, moment: float) -> None:
        """Let the scrapers of answers that are late at ``moment`` say so."""
        late = [
            (descriptor, asked.target) for descriptor, asked in self._asked.items() if asked.over < moment
        ]
        for descriptor, index in late:
            self._forget(descriptor)
            self._scrape(index)

    def _forget(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._asked[descriptor]

    def _leave(self, index: int) -> None:
        """To the pool."""
        with self._lock:
            self._backlog.append(index)

    def _wake_one(self) -> bool:
        """Wake one worker for the scrapes that wait; whether there are any."""
        with self._lock:
            if self._backlog and self._idle:
                self._idle.pop().put(True)
            return bool(self._backlog)

    def _next_scrape(self, inbox: SimpleQueue[bool]) -> int | None:
        """What the worker of ``inbox`` scrapes next, waiting for it; ``None``: nothing any more."""
        while True:
            with self._lock:
                if self._backlog:
                    return None if self._stopping.is_set() else self._backlog.popleft()
                self._idle.append(inbox)
            if not inbox.get():
                return None

    def _work(self, inbox: SimpleQueue[bool]) -> None:
        while (index := self._next_scrape(inbox)) is not None:
            self._scrape(index)

    def _scrape(self, index: int) -> None:
        try:
            outcome = self._scrapers[index].scrape()
            with self._lock:
                if outcome.reason == DeadlineError.reason:
                    self._suspects.add(index)
                else:
                    self._suspects.discard(index)
            self._publish(outcome)
        except Exception:  # the other targets still need this thread
            log.exception("scrape-fault", target=self._scrapers[index].target.name)
        finally:
            with self._lock:
                self._busy.discard(index)


def first_due(start: float, interval: float, count: int) -> list[float]:
    """``count`` moments from ``start`` on, spread evenly over one interval."""
    return [start + index * interval / count for index in range(count)]


def next_due(due: float, moment: float, interval: float) -> float:
    """The first moment after ``moment`` on the grid that ``due`` lies on: late ones are not made up for."""
    return due + interval * max(1, ceil((moment - due) / interval))
