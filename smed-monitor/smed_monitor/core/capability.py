"""What an element can give at best, learned from what it gave while it had enough to do.  Pure.

Only a stretch of time in which requests were waiting all along counts: then the element, not its users,
set the rate.  An element that was open and slow, or whose queue cannot be seen, teaches nothing.  The
best stretch counts, so that a slow one never lowers what is known.
"""

from typing import NamedTuple

SUSTAINED_SECONDS = 5.0
FULL_QUEUE = 1.0
PURE_SHARE = 0.9
"""A stretch counts for one direction when at least this share of its bytes went that way."""


class Streak(NamedTuple):
    """A stretch of time with a non-empty queue, so far."""

    seconds: float = 0.0
    read: float = 0.0
    written: float = 0.0

    @property
    def sustained(self) -> bool:
        """Whether it is long enough to teach something."""
        return self.seconds >= SUSTAINED_SECONDS


class Best(NamedTuple):
    """The best sustained rates seen, bytes per second."""

    read: float | None = None
    write: float | None = None


def streak_after(streak: Streak, depth: float | None, seconds: float, read: float, written: float) -> Streak:
    """Return ``streak`` after an interval with mean queue ``depth`` in which these bytes moved."""
    if depth is None or depth < FULL_QUEUE:
        return Streak()
    begun = Streak() if streak.sustained else streak
    return Streak(begun.seconds + seconds, begun.read + read, begun.written + written)


def best_after(best: Best, streak: Streak) -> Best:
    """``best`` once ``streak`` has been seen."""
    moved = streak.read + streak.written
    if not streak.sustained or moved <= 0:
        return best
    if streak.read >= PURE_SHARE * moved:
        return Best(max(best.read or 0.0, streak.read / streak.seconds), best.write)
    if streak.written >= PURE_SHARE * moved:
        return Best(best.read, max(best.write or 0.0, streak.written / streak.seconds))
    return best


def better(best: Best, other: Best) -> Best:
    """The better of two, each direction by itself."""
    return Best(
        max((rate for rate in (best.read, other.read) if rate is not None), default=None),
        max((rate for rate in (best.write, other.write) if rate is not None), default=None),
    )
