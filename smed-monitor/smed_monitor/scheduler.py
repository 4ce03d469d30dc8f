"""When each target is scraped: all spread evenly over the interval, none waiting for another.

One thread hands out turns, a bounded pool takes them.  A target never has two scrapes under way:
a turn that comes while the last one runs is skipped.  A target whose last scrape ran out of time is
a suspect, and suspects together get at most half of the pool, so that however many targets hang,
the others keep their rhythm (after at most one time-out in which all of them hang for the first time).
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from queue import SimpleQueue

import structlog

from smed_monitor.errors import DeadlineError
from smed_monitor.model import Outcome
from smed_monitor.scrape import Scraper

TICK_SECONDS = 0.005
"""Turns this close to each other are handed out together, to one worker; those it has not begun when this
time is over get another, so that a target that hangs holds up nobody for longer."""

log = structlog.get_logger(__name__)


class Scheduler:
    """Runs until stopped.  ``publish`` gets every outcome, ``skip`` the name for every skipped turn."""

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
        workers = max(2, min(concurrent_scrapes, 2 * len(self._scrapers)))
        self._publish = publish
        self._skip = skip
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._busy: set[int] = set()
        self._suspects: set[int] = set()
        # Plain threads: a pool makes a future and its lock for each of 500 turns a second.  Whoever came
        # home last gets the next turns, so that few threads work, with warm caches, while nothing hangs.
        self._backlog: deque[int] = deque()
        self._idle: list[SimpleQueue[bool]] = []
        self._desks: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(workers)]
        self._workers = [
            threading.Thread(target=self._work, args=(desk,), name=f"scrape-{number}", daemon=True)
            for number, desk in enumerate(self._desks)
        ]
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        """Begin; the first target is scraped at once."""
        for worker in self._workers:
            worker.start()
        self._thread.start()

    def stop(self) -> None:
        """Hand out no more turns and wait for those under way, which their time-outs bound."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        for desk in self._desks:
            desk.put(False)
        for worker in self._workers:
            if worker.is_alive():
                worker.join()
        for scraper in self._scrapers:
            scraper.close()

    @property
    def running(self) -> bool:
        """Whether turns are being handed out."""
        return self._thread.is_alive()

    def _run(self) -> None:
        first = first_turns(time.monotonic(), self._interval, len(self._scrapers))
        turns = [(due, index) for index, due in enumerate(first)]
        pause = 0.0
        while not self._stopping.wait(pause):
            moment = time.monotonic()
            while turns[0][0] <= moment + self._tick:
                due, index = turns[0]
                self._take_turn(index)
                heapq.heapreplace(turns, (next_turn(due, moment, self._interval), index))
            pause = self._tick if self._wake_one() else max(0.0, turns[0][0] - time.monotonic())

    def _take_turn(self, index: int) -> None:
        with self._lock:
            suspects_busy = len(self._busy & self._suspects)
            held_back = index in self._suspects and suspects_busy >= len(self._workers) // 2
            skipped = index in self._busy or held_back
            if not skipped:
                self._busy.add(index)
                self._backlog.append(index)
        if skipped:
            self._skip(self._scrapers[index].target.name)

    def _wake_one(self) -> bool:
        """Send one worker to the turns that wait; whether there are any."""
        with self._lock:
            if self._backlog and self._idle:
                self._idle.pop().put(True)
            return bool(self._backlog)

    def _next_turn(self, desk: SimpleQueue[bool]) -> int | None:
        """What the worker at ``desk`` does next, waiting for it; ``None``: go home."""
        while True:
            with self._lock:
                if self._backlog:
                    return None if self._stopping.is_set() else self._backlog.popleft()
                self._idle.append(desk)
            if not desk.get():
                return None

    def _work(self, desk: SimpleQueue[bool]) -> None:
        while (index := self._next_turn(desk)) is not None:
            try:
                self._scrape(index)
            except Exception:  # the other targets still need this thread
                log.exception("scrape-fault", target=self._scrapers[index].target.name)

    def _scrape(self, index: int) -> None:
        try:
            outcome = self._scrapers[index].scrape()
            with self._lock:
                if outcome.reason == DeadlineError.reason:
                    self._suspects.add(index)
                else:
                    self._suspects.discard(index)
            self._publish(outcome)
        finally:
            with self._lock:
                self._busy.discard(index)


def first_turns(start: float, interval: float, count: int) -> list[float]:
    """``count`` moments from ``start`` on, spread evenly over one interval."""
    return [start + index * interval / count for index in range(count)]


def next_turn(due: float, moment: float, interval: float) -> float:
    """The first turn after ``moment`` on the grid that ``due`` lies on: late turns are not made up for."""
    return due + interval * max(1, ceil((moment - due) / interval))
