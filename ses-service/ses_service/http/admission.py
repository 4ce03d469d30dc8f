"""Which request is answered next, and which is refused: fair queues in front of the event loop.

A decision runs on the event loop itself: handing it to another thread and back costs more than many
decisions take.  While one runs nothing else does, so each pass of the loop runs a few of them, and the loop
looks at what arrived in between.  That is what lets a node go first within a few decisions' time.  The
number in each pass grows with the time a pass takes.

Nodes go first: what they report keeps the decisions of all programs right.  Nodes and others have queues of
their own, so that neither fills the other's.  In each, every caller has a queue, and the queues are served
round robin: a caller that asks without pause waits behind its own requests.  One caller may fill three
quarters, so that there is some room for others.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from ses_service.threads.foreground import Foreground

_PACE = 0.0005  # seconds of a pass for which one decision is due
_MAX_DUE = 4


class _FairQueue:
    """A queue for each caller; they are served round robin."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Callable[[], object]]] = {}  # the next caller first
        self.count = 0

    def add(self, limit: int, use: Callable[[], object], who: str) -> bool:
        """Let ``use`` wait, unless there are too many, of all or of ``who``."""
        queue = self._queues.get(who)
        if self.count >= limit or (queue is not None and len(queue) >= max(1, limit * 3 // 4)):
            return False
        if queue is None:
            queue = self._queues[who] = deque()
        queue.append(use)
        self.count += 1
        return True

    def first(self) -> Callable[[], object]:
        """Return what is run next; something waits."""
        who = next(iter(self._queues))
        queue = self._queues.pop(who)
        first = queue.popleft()
        if queue:
            self._queues[who] = queue  # behind the others
        self.count -= 1
        return first


class Admission:
    """Two fair queues, of nodes and of others; each caller says how many may wait.

    From the first one until nobody waits, ``foreground`` says so.
    Belongs to one event loop; not for use from other threads.
    """

    def __init__(self, foreground: Foreground | None = None) -> None:
        self._foreground = foreground or Foreground()
        self._nodes, self._others = _FairQueue(), _FairQueue()
        self._taken = False
        self._passed = 0.0

    def full(self, limit: int, *, node: bool = False) -> bool:
        """Whether a request that waits behind at most ``limit`` others would be refused now."""
        return self._queue_of(node).count >= limit

    def submit(self, limit: int, use: Callable[[], object], who: str = "", *, node: bool = False) -> bool:
        """Call ``use`` when it is next, which may be now.

        ``False``: ``limit`` wait already, or too many of ``who`` for a place to be left for others.
        """
        if self._taken:
            return self._queue_of(node).add(limit, use, who)
        self._taken = True
        self._foreground.begin()
        self._passed = time.perf_counter()
        asyncio.get_running_loop().call_soon(self._next)
        use()
        return True

    def _next(self) -> None:
        now = time.perf_counter()
        due = min(_MAX_DUE, 1 + int((now - self._passed) / _PACE))
        self._passed = now
        ran = False
        try:
            while due and (queue := self._queue_of(node=self._nodes.count > 0)).count:
                due, ran = due - 1, True
                queue.first()()
        finally:  # also past a function that fails: nobody else must wait for ever
            if ran:
                asyncio.get_running_loop().call_soon(self._next)
            else:
                self._taken = False
                self._foreground.end()

    def _queue_of(self, node: bool) -> _FairQueue:
        return self._nodes if node else self._others
