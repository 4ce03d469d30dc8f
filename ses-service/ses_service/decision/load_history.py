"""How loaded each element was of late, so that a file's end can be compared with what went on meanwhile.

Pure; bounded.  The older a sample, the fewer of its neighbours are kept.  Not safe for several threads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ses_service.ledger.achieved import Sample
from ses_service.model.columns import Floats

_CELLS = 2_000_000  # samples of single elements that are kept, 12 bytes each
_MAX_SAMPLES, _MIN_SAMPLES = 512, 16
_APART = 1.0  # seconds
_POINTS = 32


@dataclass(frozen=True, slots=True)
class ElementLoad:
    """The load of an element during some time; ``None``: nobody saw it.

    ``points`` are seconds since its beginning, busy (0 to 1; -1 is unknown) and our streams.  ``busy`` is the
    mean, ``health`` the lowest part of its described speed that was to be expected of it; ``first`` and
    ``most`` are our streams there at the beginning and at most.
    """

    points: tuple[Sample, ...]
    busy: float | None
    health: float
    first: float
    most: float


class LoadHistory:
    """Samples of all elements, the oldest first."""

    def __init__(self) -> None:
        self._index: Mapping[str, int] = {}
        self._times: list[float] = []
        self._samples: list[npt.NDArray[np.float32]] = []

    def __len__(self) -> int:
        return len(self._times)

    def bind(self, index: Mapping[str, int]) -> None:
        """Count along other rows from now on; elements that were there before keep their samples."""
        known = [(row, self._index[name]) for name, row in index.items() if name in self._index]
        now, before = np.array(known, dtype=np.int64).reshape(-1, 2).T
        samples = []
        for sample in self._samples:
            moved = np.full((3, len(index)), np.nan, dtype=np.float32)
            moved[:, now] = sample[:, before]
            samples.append(moved)
        self._index, self._samples = dict(index), samples

    def record(self, now: float, busy: Floats, health: Floats, streams: Floats) -> None:
        """Take a sample of all elements, at most one a second."""
        if self._times and now < self._times[-1] + _APART:
            return
        self._times.append(now)
        self._samples.append(np.stack([busy, health, streams]).astype(np.float32))
        if len(self._times) > max(_MIN_SAMPLES, min(_MAX_SAMPLES, _CELLS // max(1, len(busy)))):
            half = len(self._times) // 2
            self._times[:half] = self._times[:half:2]
            self._samples[:half] = self._samples[:half:2]

    def during(self, element: str, begin: float, end: float) -> ElementLoad | None:
        """Return the load of an element from the last sample before a time to another."""
        row = self._index.get(element)
        first = max(0, bisect_right(self._times, begin) - 1)
        last = bisect_left(self._times, end)
        if row is None or first >= last:
            return None
        # Most files are open for a few samples, and numpy takes 50 us for however few.
        seen = [sample[:, row].tolist() for sample in self._samples[first:last]]
        busy = [part for part, _, _ in seen if part == part]
        health = [part for _, part, _ in seen if part == part]
        streams = [count for _, _, count in seen if count == count]
        last = len(seen) - 1
        taken = range(len(seen)) if last < _POINTS else [at * last // (_POINTS - 1) for at in range(_POINTS)]
        return ElementLoad(
            tuple(
                (
                    round(max(0.0, self._times[first + at] - begin), 1),
                    round(_number(seen[at][0], -1.0), 3),
                    _number(seen[at][2], 0.0),
                )
                for at in taken
            ),
            sum(busy) / len(busy) if busy else None,
            min(health, default=1.0),
            _number(seen[0][2], 0.0),
            max(streams, default=0.0),
        )


def _number(value: float, unknown: float) -> float:
    return unknown if value != value else value
