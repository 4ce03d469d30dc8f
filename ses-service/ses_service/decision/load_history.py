"""How loaded each element was of late, so that a file's end can be compared with what went on meanwhile.

Pure; bounded.  The older a sample, the fewer of its neighbours are kept.  Not safe for several threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ses_service.ledger.achieved import Sample
from ses_service.model.columns import Floats

_CELLS = 2_000_000  # samples of single elements that are kept, 12 bytes each
_MOST, _LEAST = 512, 16
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
        for one in self._samples:
            moved = np.full((3, len(index)), np.nan, dtype=np.float32)
            moved[:, now] = one[:, before]
            samples.append(moved)
        self._index, self._samples = dict(index), samples

    def record(self, now: float, busy: Floats, health: Floats, streams: Floats) -> None:
        """Take a sample of all elements, at most one a second."""
        if self._times and now < self._times[-1] + _APART:
            return
        self._times.append(now)
        self._samples.append(np.stack([busy, health, streams]).astype(np.float32))
        if len(self._times) > max(_LEAST, min(_MOST, _CELLS // max(1, len(busy)))):
            half = len(self._times) // 2
            self._times[:half] = self._times[:half:2]
            self._samples[:half] = self._samples[:half:2]

    def during(self, element: str, begin: float, end: float) -> ElementLoad | None:
        """Return the load of an element from the last sample before a time to another."""
        row = self._index.get(element)
        first = max(0, int(np.searchsorted(self._times, begin, "right")) - 1)
        last = int(np.searchsorted(self._times, end))
        if row is None or first >= last:
            return None
        seen = np.array([one[:, row] for one in self._samples[first:last]], dtype=np.float64)
        moments = np.maximum(0.0, np.array(self._times[first:last]) - begin)
        busy, health, streams = seen.T
        known = busy[~np.isnan(busy)]
        taken = np.unique(np.linspace(0, len(moments) - 1, _POINTS).astype(np.int64))
        return ElementLoad(
            tuple(
                (round(float(moments[at]), 1), round(_number(busy[at], -1.0), 3), _number(streams[at], 0.0))
                for at in taken
            ),
            float(known.mean()) if len(known) else None,
            float(np.nanmin(health)) if not np.isnan(health).all() else 1.0,
            _number(streams[0], 0.0),
            float(np.nanmax(streams)) if not np.isnan(streams).all() else 0.0,
        )


def _number(value: float, unknown: float) -> float:
    return unknown if value != value else float(value)
