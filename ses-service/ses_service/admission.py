"""Who may go next, and who is told to come back: a short line in front of the event loop.

A decision runs on the event loop itself: handing it to another thread and back costs more than many
decisions take.  While one runs nothing else does, so they take turns with everything else the loop
has to do: one per pass, and what arrived meanwhile is looked at in between.  That is what makes a refusal
quick: a request that finds the line full is refused within one decision's time.
"""

from __future__ import annotations

import asyncio
from collections import deque

from ses_service.problems import OverloadedProblem


class Turns:
    """A line of at most ``limit``.  Belongs to one event loop; not for use from other threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def take(self) -> None:
        """Wait for the next turn; raises OverloadedProblem at once when too many wait already."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            loop.call_soon(self._next, loop)
            return
        if len(self._waiting) >= self._limit:
            raise OverloadedProblem
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                loop.call_soon(self._next, loop)
                return
        self._taken = False
