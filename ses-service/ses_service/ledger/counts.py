"""How many placements each element carries, as columns kept up to date at each change.

A file that is spread over several elements is one stream on each of them.

Knows nothing of leases and nodes; :mod:`ses_service.ledger.ledger` says what is active.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np

from ses_service.ledger.placement import PeerPlacement, Placement
from ses_service.ledger.recent_streams import RecentStreams
from ses_service.model.columns import ElementTable, Floats
from ses_service.model.entities import Strictness
from ses_service.model.kinds import WRITE_RATES
from ses_service.model.policies import Policies

Stream: TypeAlias = Placement | PeerPlacement
_Rates: TypeAlias = tuple[float, float]  # of writing, and the largest that is hard

_WINDOWS = 5  # before a sample: what ended that early is less than a hundredth of a stream in it


@dataclass(frozen=True, eq=False)
class LedgerCounts:
    """Counts per element, of all on its device; the owner's live arrays, valid until the next change.

    Bytes are of all on its file system.
    ``open_now``: placements not ended, and files that are read; those that are idle count as ended here.
    ``averaged``: placements over the window of the element's last sample, as the monitor averages.
    ``reserved``: bytes announced by placements not ended.  ``last_placed``: when the last placement was made,
    ended ones included; 0 where none is known; this one is the element's own.  ``promises``: how many of
    ``open_now`` ask for a rate of writing, ``promised`` the largest of these rates in bytes per second, and
    ``promised_hard`` that of hard requirements; files of other services are not among them.
    """

    open_now: Floats
    averaged: Floats
    reserved: Floats
    last_placed: Floats
    promises: Floats
    promised: Floats
    promised_hard: Floats

    @classmethod
    def zeros(cls, size: int) -> LedgerCounts:
        """Return the counts of an empty ledger."""
        return cls(*(np.zeros(size) for _ in fields(cls)))


def began(placement: Stream) -> float:
    """Return since when it is a stream."""
    return placement.placed_at if placement.resumed_at is None else placement.resumed_at


class ElementCounter:
    """The counts of all elements.  Not safe for use from several threads.

    ``changed`` collects the rows whose counts change between two samples, for one reader, who empties it and
    takes all counts with a sample.  ``lasting`` is for how many seconds an observation counts, ``window`` the
    monitor's for current rates, in seconds.
    """

    def __init__(self, policies: Policies) -> None:
        self._recent = RecentStreams()
        self._last_placed: dict[str, float] = {}
        self._index: Mapping[str, int] = {}
        self._shared: list[list[int]] = []
        self._on_device: Mapping[str, Sequence[int]] = {}  # rows that share load with an element
        self._in_room: Mapping[str, Sequence[int]] = {}  # those of them that share room, too
        self._promised: dict[str, _Rates] = {}  # of each placement that counts
        self._on_row: defaultdict[int, Counter[_Rates]] = defaultdict(Counter)
        self.counts = LedgerCounts.zeros(0)
        self.changed: set[int] = set()
        self.lasting = policies.max_data_age
        self.window = policies.rate_window

    def bind(
        self,
        table: ElementTable,
        sampled_at: Floats,
        now: float,
        active: Iterable[Stream],
        streams: Iterable[str] = (),
    ) -> None:
        """Count along the rows of ``table`` from now on, against ``sampled_at`` (see ``observe``).

        ``streams`` are the elements of those begun by ``begin_stream``.
        """
        self._index = table.index
        self._shared = [list(rows) for rows in table.shared]
        of_device = {rows[0]: rows for rows in table.shared}
        device = table.device.tolist()
        self._on_device = {name: of_device.get(device[row], (row,)) for name, row in table.index.items()}
        room = table.room.tolist()
        self._in_room = {
            name: [other for other in self._on_device[name] if room[other] == room[row]]
            for name, row in table.index.items()
        }
        self._recent.bind(self._on_device, table.device)
        self.counts = counts = LedgerCounts.zeros(len(table))
        self._promised.clear()
        self._on_row.clear()
        for placement in active:
            self._promise(placement)
            for row, share in self._rows(placement):
                counts.open_now[row] += 1
                counts.reserved[row] += share
        for element in streams:
            for row in self._on_device.get(element, ()):
                counts.open_now[row] += 1
        for element, moment in self._last_placed.items():
            known = self._index.get(element)
            if known is not None:
                counts.last_placed[known] = moment
        self.observe(sampled_at, now)

    def observe(self, sampled_at: Floats, now: float) -> None:
        """Take new samples: per row, when its last one was taken (``nan``: none).

        Costs a few passes over what began or ended recently.  "Recently" is twice the age from which an
        observation is not used any more, and the windows after which a sample shows nothing of what ended.
        """
        self.changed.clear()
        self._recent.drop_before(now - 2 * self.lasting - _WINDOWS * self.window)
        if self._shared:
            sampled_at = sampled_at.copy()
        for rows in self._shared:
            sampled_at[rows] = np.fmax.reduce(sampled_at[rows])
        self.counts.averaged[:] = self._recent.averaged(self.counts.open_now, sampled_at, self.window)

    def begin(self, placement: Stream) -> None:
        """Count a stream; one that ended recently goes on, unless it was idle in between."""
        for row, share in self._rows(placement):
            self.counts.open_now[row] += 1
            self.counts.reserved[row] += share
            self.changed.add(row)
        self._promise(placement)
        self._recent.put(placement.placement_id, placement.elements, began(placement))

    def end(self, placement: Stream, now: float) -> None:
        """Count a stream no more."""
        for row, share in self._rows(placement):
            self.changed.add(row)
            self.counts.open_now[row] -= 1
            self.counts.reserved[row] -= share
        self._release(placement)
        self._recent.put(placement.placement_id, placement.elements, began(placement), now)

    def claim(self, before: Stream, now: Stream) -> None:
        """Count the bytes of a stream that goes on as it stands now."""
        if before.expected_bytes == now.expected_bytes:
            return
        for by, stream in ((-1.0, before), (1.0, now)):
            for row, share in self._rows(stream):
                self.counts.reserved[row] += by * share
                self.changed.add(row)

    def begin_all(self, streams: Sequence[Stream]) -> None:
        """Count streams: as ``begin`` of each."""
        self._count(streams, 1.0)
        for stream in streams:
            self._promise(stream)
        self._recent.begin_all([(stream.placement_id, stream.elements, began(stream)) for stream in streams])

    def end_all(self, streams: Sequence[Stream], now: float) -> None:
        """Count streams no more: as ``end`` of each."""
        self._count(streams, -1.0)
        for stream in streams:
            self._release(stream)
        self._recent.end_all(
            [(stream.placement_id, stream.elements, began(stream)) for stream in streams], now
        )

    def begin_stream(self, stream: str, element: str, now: float) -> None:
        """Count a stream that no placement stands for."""
        for row in self._on_device.get(element, ()):
            self.counts.open_now[row] += 1
            self.changed.add(row)
        self._recent.put(stream, (element,), now)

    def end_stream(self, stream: str, element: str, began: float, now: float) -> None:
        """Count a stream of ``begin_stream`` no more."""
        for row in self._on_device.get(element, ()):
            self.counts.open_now[row] -= 1
            self.changed.add(row)
        self._recent.put(stream, (element,), began, now)

    def placed(self, placement: Stream) -> None:
        """Note that its elements were used, whatever becomes of the placement."""
        for element in placement.elements:
            moment = max(placement.placed_at, self._last_placed.get(element, 0.0))
            self._last_placed[element] = moment
            known = self._index.get(element)
            if known is not None:
                self.counts.last_placed[known] = moment
                self.changed.add(known)

    def placed_all(self, streams: Sequence[Stream]) -> None:
        """Note that the elements of streams were used: as ``placed`` of each."""
        latest: dict[tuple[str, ...], Stream] = {}
        for stream in streams:
            known = latest.setdefault(stream.elements, stream)
            if known.placed_at < stream.placed_at:
                latest[stream.elements] = stream
        for stream in latest.values():
            self.placed(stream)

    def _count(self, streams: Sequence[Stream], by: float) -> None:
        for elements, number in Counter([stream.elements for stream in streams]).items():
            for element in elements:
                for row in self._on_device.get(element, ()):
                    self.counts.open_now[row] += by * number
                    self.changed.add(row)
        for stream in streams:
            if stream.expected_bytes:
                for row, share in self._rows(stream):
                    self.counts.reserved[row] += by * share

    def _promise(self, placement: Stream) -> None:
        """Count what a stream that begins asks for; a stripe is to give its part."""
        if isinstance(placement, Placement) and (rates := _writing_asked(placement))[0]:
            self._promised[placement.placement_id] = rates
            self._change_promises(placement, rates, 1)

    def _release(self, placement: Stream) -> None:
        rates = self._promised.pop(placement.placement_id, None)
        if rates is not None:
            self._change_promises(placement, rates, -1)

    def _change_promises(self, placement: Stream, rates: _Rates, by: int) -> None:
        counts = self.counts
        for row, _ in self._rows(placement):
            there = self._on_row[row]
            there[rates] += by
            if not there[rates]:
                del there[rates]
            counts.promises[row] += by
            counts.promised[row] = max((rate for rate, _ in there), default=0.0)
            counts.promised_hard[row] = max((hard for _, hard in there), default=0.0)

    def _rows(self, placement: Stream) -> list[tuple[int, float]]:
        elements = placement.elements
        share = (placement.expected_bytes or 0.0) / len(elements)
        return [
            (row, share if row in self._in_room[element] else 0.0)
            for element in elements
            for row in self._on_device.get(element, ())
        ]


def _writing_asked(placement: Placement) -> _Rates:
    """Return the largest rate of writing that is asked for on each element, and that of hard requirements."""
    asked = [
        (requirement.requirement.bound, requirement.requirement.strictness is Strictness.HARD)
        for requirement in placement.requirements
        if requirement.requirement.kind in WRITE_RATES
    ]
    stripes = len(placement.elements)
    largest = max((bound for bound, _ in asked), default=0.0)
    return largest / stripes, max((bound for bound, hard in asked if hard), default=0.0) / stripes
