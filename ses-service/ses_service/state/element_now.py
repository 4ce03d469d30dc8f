"""What each element offers at a moment, for those who list elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ses_service.decision.explain import offers
from ses_service.decision.question import View
from ses_service.ledger.counts import LedgerCounts
from ses_service.ledger.exclusions import Exclusion
from ses_service.ledger.node_decisions import Offered
from ses_service.model.columns import Bools, Codes
from ses_service.model.entities import Observation


@dataclass(frozen=True, slots=True)
class ElementNow:
    """What :meth:`ServiceState.elements` says of one element; ``None`` is unknown.

    ``fresh``: its load is known.  ``seen``: its last sample is not too old, though it may lack the load.
    ``excluded``: what nodes say, with the node, of files that cannot go there.
    """

    row: int
    available_read: float | None
    available_write: float | None
    open_placements: int
    reserved_bytes: float
    observation: Observation | None
    fresh: bool
    seen: bool
    excluded: Sequence[tuple[str, Exclusion]]


@dataclass(frozen=True, slots=True)
class ElementColumns:
    """Some rows as they are under the state's lock; what is made of them needs it no more."""

    rows: Codes
    offered: list[Offered]
    columns: tuple[list[float], ...]

    @classmethod
    def of(cls, view: View, counts: LedgerCounts, rows: Codes, now: float) -> ElementColumns:
        """Return the rows of a view."""
        fresh = ~np.isnan(view.rows.elements["busy"][rows])
        columns = counts.open_now[rows], counts.reserved[rows], fresh, seen(view, now)[rows]
        return cls(rows, offers(view, rows), tuple(column.tolist() for column in columns))

    def elements(
        self, view: View, excluded: Mapping[str, Sequence[tuple[str, Exclusion]]]
    ) -> list[ElementNow]:
        """Return what the rows say; ``excluded``: what nodes exclude, by element."""
        listed = zip(self.rows.tolist(), self.offered, *self.columns, strict=True)
        return [
            ElementNow(row, offered.read, offered.write, int(count), reserved, view.observations.by_row[row],
                       bool(fresh), bool(was_seen), excluded[view.table.elements[row].id])
            for row, offered, count, reserved, fresh, was_seen in listed
        ]  # fmt: skip


def seen(view: View, now: float) -> Bools:
    """Return which elements have a sample that is not too old."""
    ok = np.array(
        [observation is not None and observation.state == "ok" for observation in view.observations.by_row],
        np.bool_,
    )
    return ok & (now - view.rows.sampled_at <= view.rows.oldest)
