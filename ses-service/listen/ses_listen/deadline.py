"""How long the request that a thread answers may go on.

Nothing ends a thread from outside.  So work that grows with what was asked, or with what is kept, looks
whether its request has ended: :func:`check` in its loops, and :func:`left` where it waits for another part.
Outside a request nothing is limited.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_own = threading.local()


class RequestEndedError(BaseException):
    """Nobody waits any more for what a thread does.  As a cancellation, no ``except Exception`` keeps it."""


class Deadline:
    """When a request ends, from now on; ``seconds`` by the monotonic clock.  Any thread."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds, not below 0."""
        return max(0.0, self._ends - time.monotonic())

    def end(self) -> None:
        """Let nobody wait any more."""
        self._ends = -math.inf

    def extend(self, seconds: float) -> None:
        """Let it take so long from now on, unless it has ended."""
        if self.left:
            self._ends = time.monotonic() + seconds


@contextmanager
def of_this_thread(deadline: Deadline | None) -> Iterator[None]:
    """Have what is done within end with a request; ``None``: never, as a change that was begun."""
    before = getattr(_own, "deadline", None)
    _own.deadline = deadline
    try:
        yield
    finally:
        _own.deadline = before


def left() -> float:
    """Return the seconds until the request ends; infinity outside a request."""
    deadline: Deadline | None = getattr(_own, "deadline", None)
    return math.inf if deadline is None else deadline.left


def check() -> None:
    """Raise RequestEndedError when nobody waits any more."""
    if not left():
        raise RequestEndedError


def extend(seconds: float) -> None:
    """Let the request, if this is one, take so long from now on: one that is known to take long."""
    deadline: Deadline | None = getattr(_own, "deadline", None)
    if deadline is not None:
        deadline.extend(seconds)
