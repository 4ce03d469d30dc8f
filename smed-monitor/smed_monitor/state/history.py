"""The last while of every element, in memory of a fixed size per element.  No clock, no files, no HTTP.

A ring holds one point per period for each element: mean read rate, write rate and queue depth over
that period.  An element costs 12 bytes a point (4.3 kB with 360 points), all elements together share
the times.  What was not known is NaN.  Times are the wall clock's (epoch seconds); after a step of that
clock points may be out of order, which readers, who sort them into steps, do not notice.

Thread-safe.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FIELDS = 3
"""Read and write rate (bytes per second) and queue depth (requests), in this order."""
Floats = npt.NDArray[np.float32]
Times = npt.NDArray[np.float64]


class Point(NamedTuple):
    """The means over one step, which ended ``at`` (epoch seconds); ``None`` where nothing is known."""

    at: float
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    queue_depth: float | None


@dataclass(frozen=True, slots=True)
class Contents:
    """A ring as it is kept: ``times`` oldest first, ``values`` of shape (elements, times, FIELDS)."""

    names: tuple[str, ...]
    times: Times
    values: Floats


class Ring:
    """The latest ``points`` points of every element; the oldest make room."""

    def __init__(self, points: int) -> None:
        self._lock = threading.Lock()
        self._points = points
        self._times: Times = np.full(points, np.nan)
        self._values: Floats = np.full((0, points, FIELDS), np.nan, np.float32)
        self._rows: dict[str, int] = {}
        self._head = 0

    def add(self, at: float, names: Sequence[str], values: Floats) -> None:
        """One point: ``values`` of shape (names, FIELDS), the means of a period that ended ``at``."""
        with self._lock:
            rows = [self._rows.setdefault(name, len(self._rows)) for name in names]
            self._make_room(len(self._rows))
            self._times[self._head] = at
            self._values[:, self._head] = np.nan
            self._values[rows, self._head] = values
            self._head = (self._head + 1) % self._points

    def _make_room(self, elements: int) -> None:
        have = len(self._values)
        if elements > have:
            more = np.full((elements - have + have // 8, self._points, FIELDS), np.nan, np.float32)
            self._values = np.concatenate([self._values, more])

    def points(self, element: str, since: float, until: float, step: float) -> list[Point]:
        """The means of each step in (since, until], ends on multiples of ``step``; unknown steps left out."""
        with self._lock:
            row = self._rows.get(element)
            if row is None:
                return []
            times, values = self._times.copy(), self._values[row].copy()
        kept = (times > since) & (times <= until)  # NaN compares false
        return stepped(times[kept], values[kept], step)

    def contents(self) -> Contents:
        """A copy, oldest point first, without elements that have no figure left."""
        with self._lock:
            oldest = self._points if np.isnan(self._times[self._head]) else self._head
            names, rows = tuple(self._rows), self._values[: len(self._rows)]
            times = np.concatenate([self._times[oldest:], self._times[: self._head]])
            values = np.concatenate([rows[:, oldest:], rows[:, : self._head]], axis=1)
        known = ~np.isnan(values).all(axis=(1, 2))
        if not known.all():
            names, values = tuple(names[row] for row in np.flatnonzero(known)), values[known]
        return Contents(names, times, values)

    def fill(self, contents: Contents) -> None:
        """Take up what ``contents()`` gave, into a ring that has nothing yet; the latest points win."""
        kept = min(self._points, len(contents.times))
        with self._lock:
            self._rows = {name: row for row, name in enumerate(contents.names)}
            self._make_room(len(contents.names))
            if kept:
                self._times[:kept] = contents.times[-kept:]
                self._values[: len(contents.names), :kept] = contents.values[:, -kept:]
            self._head = kept % self._points


def stepped(times: Times, values: Floats, step: float) -> list[Point]:
    """Points of shape (times, FIELDS) as means over steps that end on multiples of ``step``."""
    if not len(times):
        return []
    ends, which = np.unique(np.ceil(times / step) * step, return_inverse=True)
    total = np.zeros((len(ends), FIELDS))
    count = np.zeros((len(ends), FIELDS))
    known = ~np.isnan(values)
    np.add.at(total, which, np.where(known, values, 0.0))
    np.add.at(count, which, known)
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return [
        Point(float(end), *(None if np.isnan(value) else float(value) for value in mean))
        for end, mean in zip(ends, means, strict=True)
        if not np.isnan(mean).all()
    ]


def mean_of(looks: Sequence[tuple[Sequence[str], Floats]]) -> tuple[tuple[str, ...], Floats]:
    """Several looks at the elements, each (names, values of shape (names, FIELDS)), as their means."""
    names = tuple(dict.fromkeys(name for seen, _ in looks for name in seen))
    rows = {name: row for row, name in enumerate(names)}
    total = np.zeros((len(names), FIELDS))
    count = np.zeros((len(names), FIELDS))
    for seen, values in looks:
        where = [rows[name] for name in seen]
        known = ~np.isnan(values)
        total[where] += np.where(known, values, 0.0)
        count[where] += known
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return names, means.astype(np.float32)
