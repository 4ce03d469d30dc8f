"""How many placements each element carries, as columns kept up to date at each change.

A file that is spread over several elements is one stream on each of them.  The counting is in native code
(``libses/state/streams.h``); these are its columns.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ses_service.ledger.placement import PeerPlacement
from ses_service.model.columns import Floats


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

    @property
    def counted(self) -> tuple[Floats, ...]:
        """The columns that change with each stream, in the order of ``struct Counts``."""
        return (
            self.open_now,
            self.reserved,
            self.last_placed,
            self.promises,
            self.promised,
            self.promised_hard,
        )


def began(placement: PeerPlacement) -> float:
    """Return since when it is a stream."""
    return placement.placed_at if placement.resumed_at is None else placement.resumed_at
