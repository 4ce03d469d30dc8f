"""What the agent of a node reports of one file, and why the ledger may not take it."""

from __future__ import annotations

from dataclasses import dataclass

from ses_state import _state

from ses_service.ledger.achieved import Achieved
from ses_service.ledger.node_decisions import InBatch
from ses_service.ledger.placement import EndReason

MAY_RETURN = frozenset({EndReason.EXPIRED, EndReason.LOST, EndReason.SILENT})


class LedgerError(Exception):
    """What was asked of the ledger cannot be done."""


class UnknownPlacementError(LedgerError):
    """No placement has this id, or its record was dropped long after it ended."""


class PlacementEndedError(LedgerError):
    """The placement has ended and cannot be opened."""


class NotYoursError(LedgerError):
    """The placement belongs to another user or node."""


@dataclass(slots=True)
class Origin:
    """How a placement came about, for a ledger that does not know it.  Times are seconds since the epoch.

    ``decided_by`` is ``program`` when it chose from its node's table, ``agent`` when it had to ask the agent.
    """

    elements: tuple[str, ...]
    placed_at: float
    distance: float
    decided_by: str
    expected_bytes: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class PlacementReport:
    """What an agent reports of a file that was created.  ``None``: it does not know.

    ``origin``: how its placement came about; ``in_batch``: by which decision.
    """

    placement_id: str
    path: str | None = None
    device: int | None = None
    inode: str | None = None
    pid: int | None = None
    opened_at: float | None = None
    user: str | None = None
    application: str | None = None
    job: str | None = None
    idle: bool | None = None
    bytes: float | None = None
    closed: bool = False
    origin: Origin | None = None
    in_batch: InBatch | None = None


@dataclass(slots=True)
class Ended:
    """A placement that is over."""

    placement_id: str
    reason: EndReason
    bytes_written: float | None = None
    path: str | None = None
    achieved: Achieved | None = None


_state.use_classes(
    {
        entry.__name__: entry
        for entry in (LedgerError, UnknownPlacementError, PlacementEndedError, NotYoursError)
    }
)
