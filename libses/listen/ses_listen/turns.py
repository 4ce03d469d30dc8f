"""Who gets the next of a few places: callers in turn, so that none waits for all that another asks."""

from __future__ import annotations

import asyncio
from collections import Counter, deque


class Turns:
    """``places`` for requests that are worked on; one caller has at most ``each`` of them.

    Who waits does so in a queue of the caller, and the queues are served round robin.  Belongs to one event
    loop.
    """

    def __init__(self, places: int, each: int, waiting: int) -> None:
        self._free = places
        self._each = each
        self._waiting = waiting
        self._has: Counter[str] = Counter()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # the next caller first
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

    def give_back(self, who: str) -> None:
        """Give a place to the next."""
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

    def _serve(self) -> None:
        while self._free:
            who = next((one for one in self._queues if self._has[one] < self._each), None)
            if who is None:
                return
            queue = self._queues.pop(who)
            queue.popleft().set_result(None)
            if queue:
                self._queues[who] = queue  # behind the others
            self._has[who] += 1
            self._free -= 1
