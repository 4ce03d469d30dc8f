"""Pictures of one file over time: its rate, and how busy its element was.  Pure; points of an SVG line."""

from dataclasses import dataclass
from itertools import pairwise

from ses_client.messages.files import Received

WIDTH, HEIGHT = 600, 120


@dataclass(frozen=True, slots=True)
class Line:
    """A line from the left to the right: ``points`` for SVG, and what its top stands for, in ``unit``."""

    points: str
    top: float
    unit: str
    seconds: float


def rate_line(received: Received) -> Line | None:
    """Return how many MB moved each second, written and read together; ``None``: too little is known."""
    moved = [(moment, written + read) for moment, written, read in received.samples]
    steps = [
        (before, after, (until - since) / (after - before) / 1e6)
        for (before, since), (after, until) in pairwise(moved)
        if after > before
    ]
    top = max((rate for _, _, rate in steps), default=0.0)
    if top <= 0:
        return None
    end = steps[-1][1]
    corners = [corner for before, after, rate in steps for corner in ((before, rate), (after, rate))]
    return Line(_points(corners, end, top), top, "MB/s", end)


def busy_line(received: Received) -> Line | None:
    """Return which part of its element was busy; ``None``: nobody saw it."""
    seen = [(moment, busy * 100) for moment, busy, _ in received.load if busy >= 0]
    if len(seen) < 2 or seen[-1][0] <= 0:
        return None
    return Line(_points(seen, seen[-1][0], 100.0), 100.0, "%", seen[-1][0])


def _points(values: list[tuple[float, float]], end: float, top: float) -> str:
    return " ".join(
        f"{moment / end * WIDTH:.1f},{HEIGHT - max(0.0, min(1.0, value / top)) * HEIGHT:.1f}"
        for moment, value in values
    )
