"""Gives places to callers in turn: the next one to the caller that used them least lately."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable

_HALF = 10.0  # seconds after which time with a place counts half
_FORGOTTEN = 1e-3  # seconds
_MAX_HALVES = 10.0  # before all is counted anew


class Turns:
    """``places`` for requests that are worked on; one caller has at most ``each`` of them.

    Each caller has a queue.  The next place is for the caller that used places for the shortest time lately;
    of equals, for the one that waits longest.  So a caller with many requests waits, and one with few does
    not.  Belongs to one event loop.
    """

    def __init__(
        self, places: int, each: int, waiting: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free = places
        self._each = each
        self._waiting = waiting
        self._has: Counter[str] = Counter()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # in the order of arrival
        self._used: dict[str, float] = {}  # seconds with a place, worth more the later
        self._clock = clock
        self._at = self._began = clock()  # counted until then; where a second is worth one
        self.count = 0
        """How many have a place, or wait for one."""

    def take(self, who: str) -> asyncio.Future[None] | None:
        """Return what is done when ``who`` has a place; ``None``: too many of ``who`` wait.

        It may be cancelled until it is done; afterwards :meth:`give_back` must be called.
        """
        queue = self._queues.get(who, deque())
        if len(queue) >= self._waiting:
            return None
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._queues[who] = queue
        self.count += 1
        self._serve()
        return turn

    def make_room(self, who: str, most: int) -> bool:
        """Return whether fewer than ``most`` have a place or wait, now or after one that waited is cancelled.

        That one is the last of the caller with the most waiting, if those are more than ``who`` would have;
        what :meth:`take` returned for it is cancelled.
        """
        if self.count < most:
            return True
        longest = max(self._queues, key=lambda caller: len(self._queues[caller]), default=who)
        if len(self._queues.get(longest, ())) <= len(self._queues.get(who, ())) + 1:
            return False
        last = self._queues[longest][-1]
        self.leave(longest, last)
        last.cancel()
        return True

    def give_back(self, who: str) -> None:
        """Give a place to the next."""
        self._charge()
        self._free += 1
        self._has[who] -= 1
        if not self._has[who]:
            del self._has[who]
        self.count -= 1
        self._serve()

    def leave(self, who: str, turn: asyncio.Future[None]) -> None:
        """Wait no more."""
        if turn.done():
            self.give_back(who)
            return
        self.count -= 1
        self._queues[who].remove(turn)
        if not self._queues[who]:
            del self._queues[who]

    def _charge(self) -> None:
        """Count the time since this was done last for those who have places."""
        passed = max(0.0, self._clock() - self._at)
        self._at += passed
        halves = (self._at - self._began) / _HALF
        if halves > _MAX_HALVES:
            left = 0.5**halves
            self._used = {who: now for who, used in self._used.items() if (now := used * left) > _FORGOTTEN}
            self._began, halves = self._at, 0.0
        for who, places in self._has.items():
            self._used[who] = self._used.get(who, 0.0) + places * passed * 2.0**halves

    def _serve(self) -> None:
        while self._free:
            waiting = (caller for caller in self._queues if self._has[caller] < self._each)
            who = min(waiting, key=lambda caller: self._used.get(caller, 0.0), default=None)
            if who is None:
                return
            self._charge()
            queue = self._queues.pop(who)
            queue.popleft().set_result(None)
            if queue:
                self._queues[who] = queue  # behind the others
            self._has[who] += 1
            self._free -= 1
