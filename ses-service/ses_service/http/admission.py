"""Who may go next, and who is told to come back: a short line in front of the event loop.

A decision runs on the event loop itself: handing it to another thread and back costs more than many
decisions take.  While one runs nothing else does, so they take turns with everything else the loop
has to do, a few in each pass, and what arrived meanwhile is looked at in between.  That is what lets a node
go first within a few decisions' time.  The number in each pass grows with the time a pass takes.

Nodes go first: what they tell keeps the decisions of all programs right.  Nodes and others have rooms of
their own, so that neither fills the other's.  In each room every caller has a line, and the lines have their
turns in a circle: who asks without pause waits behind oneself.  One caller may take three quarters of a room,
so that there is some for others.

The parts of what takes several turns stand in a line of their own, and have their turn when nobody else
waits, or after a few others: a storm of batches keeps a decision waiting for one part, not for each batch's.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from ses_service.threads.give_way import Foreground

_PACE = 0.0005  # seconds of a pass for which one decision is due
_MOST = 4
_PASSED_OVER = 4  # decisions that go before a part that waits


class _Room:
    """A line for each caller; the lines have their turns in a circle."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[Callable[[], bool]]] = {}  # whose turn it is first
        self.count = 0

    def add(self, limit: int, use: Callable[[], bool], who: str) -> bool:
        """Let ``use`` wait, unless there are too many, of all or of ``who``."""
        line = self._lines.get(who)
        if self.count >= limit or (line is not None and len(line) >= max(1, limit * 3 // 4)):
            return False
        if line is None:
            line = self._lines[who] = deque()
        line.append(use)
        self.count += 1
        return True

    def first(self) -> Callable[[], bool]:
        """Return who has the next turn; somebody waits."""
        who = next(iter(self._lines))
        line = self._lines.pop(who)
        first = line.popleft()
        if line:
            self._lines[who] = line  # behind the others
        self.count -= 1
        return first


class Turns:
    """Two rooms, of nodes and of others; how many may wait in each is up to who comes.

    In the line stand functions that use a turn when they are called, and return whether they did: who hung
    up meanwhile leaves it to the next.  From the first turn until nobody waits, ``foreground`` says so.
    Belongs to one event loop; not for use from other threads.
    """

    def __init__(self, foreground: Foreground | None = None) -> None:
        self._foreground = foreground or Foreground()
        self._nodes, self._others = _Room(), _Room()
        self._parts: deque[Callable[[], bool]] = deque()
        self._passed_over = 0
        self._taken = False
        self._passed = 0.0

    def full(self, limit: int, *, node: bool = False) -> bool:
        """Whether a request that waits behind at most ``limit`` others would be refused now."""
        return self._room(node).count >= limit

    def give(self, limit: int, use: Callable[[], bool], who: str = "", *, node: bool = False) -> bool:
        """Call ``use`` when its turn comes, which may be now.

        ``False``: ``limit`` wait already, or so many for ``who`` that others would find no room.
        """
        if self._begun():
            use()
            return True
        return self._room(node).add(limit, use, who)

    async def take_between(self) -> None:
        """Wait for a turn that nobody else needs, or the next after a few others."""
        if self._begun():
            return
        turn = asyncio.get_running_loop().create_future()

        def use() -> bool:
            if turn.done():
                return False
            turn.set_result(None)
            return True

        self._parts.append(use)
        await turn

    def _begun(self) -> bool:
        """Take a turn at once, if it is the first of a pass."""
        if self._taken:
            return False
        self._taken = True
        self._foreground.begin()
        self._passed = time.perf_counter()
        loop = asyncio.get_running_loop()
        loop.call_soon(self._next, loop)
        return True

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.perf_counter()
        due = min(_MOST, 1 + int((now - self._passed) / _PACE))
        self._passed = now
        going_on = True  # also past a function that fails: nobody else must wait for ever
        try:
            going_on = self._give(due)
        finally:
            if going_on:
                loop.call_soon(self._next, loop)
            else:
                self._taken = False
                self._foreground.end()

    def _give(self, due: int) -> bool:
        """Give up to ``due`` turns; return whether there was one to give."""
        given = False
        while due and (self._nodes.count or self._others.count or self._parts):
            used = self._first()()
            due -= used
            given = given or used
        return given

    def _first(self) -> Callable[[], bool]:
        """Return who has the next turn; somebody waits."""
        room = self._room(node=self._nodes.count > 0)
        if self._parts and (not room.count or self._passed_over >= _PASSED_OVER):
            self._passed_over = 0
            return self._parts.popleft()
        self._passed_over = self._passed_over + 1 if self._parts else 0
        return room.first()

    def _room(self, node: bool) -> _Room:
        return self._nodes if node else self._others
