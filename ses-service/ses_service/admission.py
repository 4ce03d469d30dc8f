"""Who may go next, and who is told to come back: a short line in front of the event loop.

A decision runs on the event loop itself: handing it to another thread and back costs more than many
decisions take.  While one runs nothing else does, so they take turns with everything else the loop
has to do, a few in each pass, and what arrived meanwhile is looked at in between.  That is what makes a
refusal quick: a request that finds the line full is refused within a few decisions' time.

The number in each pass grows with the time a pass takes, so that however many are refused, the loop still
spends its time on decisions.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from ses_service.problems import OverloadedProblem

_PACE = 0.0005  # seconds of a pass for which one decision is due
_MOST = 4


class Turns:
    """One line for all; how long it may be is up to who comes.

    Belongs to one event loop; not for use from other threads.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False
        self._passed = 0.0

    def full(self, limit: int) -> bool:
        """Whether a request that waits behind at most ``limit`` others would be refused now."""
        return len(self._waiting) >= limit

    async def take(self, limit: int) -> None:
        """Wait for the next turn; raises OverloadedProblem at once when ``limit`` wait already."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            self._passed = time.perf_counter()
            loop.call_soon(self._next, loop)
            return
        if self.full(limit):
            raise OverloadedProblem
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.perf_counter()
        due = min(_MOST, 1 + int((now - self._passed) / _PACE))
        self._passed = now
        while self._waiting and due:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                due -= 1
        if due and not self._waiting:
            self._taken = False
        else:
            loop.call_soon(self._next, loop)
