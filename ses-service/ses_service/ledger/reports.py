"""What the agent of a node reports of one file, and why the ledger may not take it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ses_service.ledger.node_decisions import InBatch
from ses_service.ledger.placement import EndReason, Placement, PlacementState

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


def refuse_strangers(placement: Placement, user: str | None, node: str | None) -> None:
    """Raise NotYoursError where a placement is of another user or node than these; ``None``: any."""
    subject = placement.subject
    if user is not None and user != subject.user:
        raise NotYoursError(f"placement {placement.placement_id} is another user's")
    if node is not None and subject.node is not None and node != subject.node:
        raise NotYoursError(f"placement {placement.placement_id} is another node's")


def refuse_ended(placement: Placement, node: str | None) -> None:
    """Raise PlacementEndedError where a placement ended, unless a node may know better."""
    reason = placement.end_reason
    may_return = reason in MAY_RETURN or (node is not None and reason is EndReason.UNUSED)
    if placement.state is PlacementState.ENDED and not may_return:
        raise PlacementEndedError(f"placement {placement.placement_id} ended ({reason})")


def opened_again(
    before: Placement, report: PlacementReport, now: float, node: str | None, lease_until: float
) -> Placement:
    """Return a placement as it stands after ``report`` at ``now``, of ``node``, if one reported it."""
    opened_at = before.opened_at
    if opened_at is None:
        # An agent's clock may be wrong; a file is not opened before it was placed, or in the future.
        opened_at = min(now, max(before.placed_at, report.opened_at or now))
    subject = before.subject
    idle = before.idle if report.idle is None else report.idle
    return replace(
        before,
        subject=replace(
            subject,
            application=subject.application if report.application is None else report.application,
            job=subject.job if report.job is None else report.job,
            node=node or subject.node,
        ),
        state=PlacementState.OPEN,
        path=before.path if report.path is None else report.path,
        device=before.device if report.device is None else report.device,
        inode=before.inode if report.inode is None else report.inode,
        pid=before.pid if report.pid is None else report.pid,
        opened_at=opened_at,
        idle=idle,
        resumed_at=now if before.idle and not idle else before.resumed_at,
        lease_until=lease_until,
        ended_at=None,
        end_reason=None,
        file_verdict=None,  # of an end that was none
    )
