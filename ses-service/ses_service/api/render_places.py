"""Places, in the shapes of the contract."""

from __future__ import annotations

import math
from typing import Any

from ses_client.messages import places

from ses_service.api import render
from ses_service.ledger.placement import Held, Placement, PlacementState
from ses_service.ledger.places import RENEW_WITHIN


def place(one: Placement, *, node_reports: bool) -> places.Place:
    """Return a place; ``node_reports``: an agent announces for its node."""
    return places.Place(**_place(one, node_reports))


def given(
    one: Placement, notes: list[str], backends: dict[str, str], *, node_reports: bool
) -> places.PlaceGiven:
    """Return a place with the reasons for it; ``notes`` are added to its own."""
    return places.PlaceGiven(
        **_place(one, node_reports),
        requirements=render.resolved(one.requirements),
        predicted=render.predictions(one.predicted),
        candidates=render.candidates(one.candidates, backends),
        refused=render.refusals(one.refused),
        notes=[*notes, *one.notes],
    )


def _place(one: Placement, node_reports: bool) -> dict[str, Any]:
    held = one.held or Held()
    is_open = one.state is PlacementState.OPEN
    followed = math.isinf(one.lease_until)
    by_node = followed or node_reports
    return {
        "place_id": one.placement_id,
        "state": one.state.value,
        "subject": render.subject(one.subject),
        "element": one.element.id,
        "storage_system": one.element.storage_system,
        "directory": one.path or "",
        "streams": len(one.elements),
        "claimed_bytes": held.claimed,
        "expected_from": one.expected_from,
        "written_bytes": held.written if one.bytes_written is None else one.bytes_written,
        "made_at": one.placed_at,
        "until": held.until,
        "pid": one.pid,
        "followed": is_open and followed,
        "renewed_by": None if not is_open or held.until is not None else "node" if by_node else "caller",
        "renew_within_seconds": RENEW_WITHIN,
        "ended_at": one.ended_at,
        "end_reason": None if one.end_reason is None else one.end_reason.value,
    }
