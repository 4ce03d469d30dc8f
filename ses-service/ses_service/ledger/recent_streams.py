"""What began or ended within the last seconds, as columns: so that a sample is counted in a few passes.

A ring: what happens is appended at one end, what is too old is dropped at the other, and both cost the
same however much there is.  Knows no ledger: a stream is an id, the elements it runs on, the moment it
began and the moment it ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ses_service.model.columns import Bools, Codes, Floats

_SIZE = 1024
_NO_ROW = -1


@dataclass(slots=True)
class _Entry:
    stream: str
    first: int
    elements: tuple[str, ...]


class RecentStreams:
    """Streams that began or ended recently.  Times are seconds since the epoch; not ended is infinite.

    Not safe for use from several threads.
    """

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._known: dict[str, _Entry] = {}
        self._on_device: Mapping[str, Sequence[int]] = {}
        self._device: Codes = np.zeros(0, dtype=np.int64)
        self._head = self._tail = 0
        self._began = np.zeros(_SIZE)
        self._ended = np.zeros(_SIZE)
        self._row = np.zeros(_SIZE, dtype=np.int64)

    def __contains__(self, stream: str) -> bool:
        return stream in self._known

    def bind(self, on_device: Mapping[str, Sequence[int]], device: Codes) -> None:
        """Count along other rows from now on: those of each element's device, and the first of each row's."""
        self._on_device, self._device = on_device, device
        size = len(self._row)
        for entry in self._entries:
            for place, element in enumerate(entry.elements, entry.first):
                self._row[place % size] = self._row_of(element)

    def put(self, stream: str, elements: tuple[str, ...], began: float, ended: float = np.inf) -> None:
        """Note when a stream began and, maybe, ended; noted again, the last call counts."""
        entry = self._known.get(stream)
        if entry is None or entry.elements != elements:
            entry = self._append(stream, elements)
        size = len(self._began)
        for place in range(entry.first, entry.first + len(elements)):
            self._began[place % size] = began
            self._ended[place % size] = ended

    def begin_all(self, streams: Iterable[tuple[str, tuple[str, ...], float]]) -> None:
        """Note of streams, each an id, its elements and a time, that they began: as ``put`` of each."""
        again, fresh = [], []
        rows: list[int] = []
        moments: list[float] = []
        for stream, elements, began in streams:
            if stream in self._known:
                again.append((stream, elements, began))
                continue
            entry = self._known[stream] = _Entry(stream, self._tail + len(rows), elements)
            fresh.append(entry)
            rows += map(self._row_of, elements)
            moments += [began] * len(elements)
        self._extend(rows, moments)
        self._entries.extend(fresh)
        for stream, elements, began in again:
            self.put(stream, elements, began)

    def end_all(self, streams: Iterable[tuple[str, tuple[str, ...], float]], ended: float) -> None:
        """Note of streams that began at a time that they ended: as ``put`` of each."""
        places: list[int] = []
        moments: list[float] = []
        size = len(self._began)
        for stream, elements, began in streams:
            entry = self._known.get(stream)
            if entry is None or entry.elements != elements:
                self.put(stream, elements, began, ended)
                size = len(self._began)
                continue
            places += range(entry.first, entry.first + len(elements))
            moments += [began] * len(elements)
        at = np.array(places, dtype=np.int64) % size
        self._began[at] = moments
        self._ended[at] = ended

    def drop_before(self, horizon: float) -> None:
        """Drop what is older, from the oldest on."""
        size = len(self._began)
        while self._entries:
            entry = self._entries[0]
            if self._known.get(entry.stream) is entry:
                began, ended = self._began[entry.first % size], self._ended[entry.first % size]
                if (began if np.isinf(ended) else ended) >= horizon:
                    return
                del self._known[entry.stream]
            self._entries.popleft()
            self._head += len(entry.elements)

    def averaged(self, open_now: Floats, sampled_at: Floats, window: float) -> Floats:
        """Return the streams per row as the monitor averages what it measures.

        ``open_now`` are all that go on.  To a sample, what happened x seconds before it weighs
        exp(-x / window).
        """
        row, began, ended = self._placed()
        taken = np.nan_to_num(sampled_at, nan=-np.inf)[row]
        last, first = np.maximum(0.0, taken - began), np.maximum(0.0, taken - ended)
        there = np.exp(first / -window) - np.exp(last / -window)
        moved = _per_row(row, there - np.isinf(ended), len(open_now))
        return np.maximum(0.0, open_now + moved[self._device])

    def _row_of(self, element: str) -> int:
        return self._on_device.get(element, (_NO_ROW,))[0]

    def _placed(self) -> tuple[Codes, Floats, Floats]:
        """Return the row, beginning and end of what is on any."""
        places = np.arange(self._head, self._tail) % len(self._row)
        row = self._row[places]
        places, row = places[row != _NO_ROW], row[row != _NO_ROW]
        return row, self._began[places], self._ended[places]

    def _append(self, stream: str, elements: tuple[str, ...]) -> _Entry:
        while self._tail - self._head + len(elements) > len(self._row):
            self._grow()
        earlier = self._known.get(stream)
        if earlier is not None:
            self._blank(earlier)
        entry = self._known[stream] = _Entry(stream, self._tail, elements)
        self._entries.append(entry)
        self._tail += len(elements)
        size = len(self._row)
        for place, element in enumerate(elements, entry.first):
            self._row[place % size] = self._row_of(element)
        return entry

    def _extend(self, rows: list[int], began: list[float]) -> None:
        while self._tail - self._head + len(rows) > len(self._row):
            self._grow()
        at = np.arange(self._tail, self._tail + len(rows)) % len(self._row)
        self._row[at], self._began[at], self._ended[at] = rows, began, np.inf
        self._tail += len(rows)

    def _blank(self, entry: _Entry) -> None:
        for place in range(entry.first, entry.first + len(entry.elements)):
            self._row[place % len(self._row)] = _NO_ROW

    def _grow(self) -> None:
        places = np.arange(self._head, self._tail)
        before, after = places % len(self._row), places % (2 * len(self._row))
        for name in ("_began", "_ended", "_row"):
            column = getattr(self, name)
            wider = np.zeros(2 * len(column), dtype=column.dtype)
            wider[after] = column[before]
            setattr(self, name, wider)


def _per_row(rows: Codes, weights: Bools | Floats, size: int) -> Floats:
    return np.bincount(rows, weights, size).astype(np.float64, copy=False)
