"""Places: directories that were given out for data to be written.  Pure.

A place is a placement without a file: it counts as one stream for each time its element is among its
stripes, and its claim, less what is known to be written there, counts as claimed space.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ses_service.ledger.errors import LedgerError
from ses_service.ledger.placement import Held, Placement

LEASE = 25.0  # seconds a place of a process counts that nobody renews: less than those of a silent node
RENEW_WITHIN = 8.0
OF_DIRECTORIES = "directories"  # the back end of storage systems whose elements are directories


class TooManyPlacesError(LedgerError):
    """The user has as many places as one may have."""


@dataclass(frozen=True, slots=True)
class PlaceAsked:
    """What is asked of a place beside needs: by ``held`` it ends at a time, else with process ``pid``.

    ``name`` is that of the directory in the element's own, which the caller makes; none: the element's own.
    """

    placement_id: str
    held: Held
    streams: int = 1
    name: str | None = None
    pid: int | None = None


def reported(opened: Placement, before: Placement, size: float | None) -> Placement:
    """Return how a place stands after its node reported it: it has no inode, and its end may be fixed."""
    assert before.held is not None
    until = opened.lease_until if before.held.until is None else before.held.until
    kept = opened.replaced(device=before.device, inode=before.inode, lease_until=until)
    return kept if size is None else written(kept, size)


def written(place: Placement, amount: float) -> Placement:
    """Return a place in which so many bytes lie now."""
    held = place.held
    assert held is not None
    left = None if held.claimed is None else max(0.0, held.claimed - amount)
    return place.replaced(expected_bytes=left, held=replace(held, written=amount))


def renewed(place: Placement, now: float) -> Placement:
    """Return a place whose caller renews it; one that its node follows, or that ends at a time, as it is."""
    held = place.held
    if held is None or held.until is not None or math.isinf(place.lease_until):
        return place
    return place.replaced(lease_until=max(place.lease_until, now + LEASE))


def newest_lease(placements: Iterable[Placement]) -> float:
    """Return when the last lease of a place ends, as far as one does: some time after the service's end."""
    leases = (
        placement.lease_until
        for placement in placements
        if placement.held is not None and placement.held.until is None
    )
    return max((lease for lease in leases if math.isfinite(lease)), default=0.0)


def restored(place: Placement, now: float, waited_for: float, newest: float) -> Placement:
    """Return a place as it counts after a restart: who renews it has ``waited_for`` seconds to come back.

    What was left of its lease when the service ended is left now: the ``newest`` lease was renewed just
    before.  So one that nobody renews ends also where the service starts again and again.
    """
    held = place.held
    if held is None or held.until is not None:
        return place
    newest = min(newest, now + LEASE)  # of places that wait for their node it may be later
    behind = newest - place.lease_until if math.isfinite(place.lease_until) else 0.0
    return place.replaced(lease_until=now + max(0.0, LEASE - behind) + waited_for)


def has_own_directory(place: Placement) -> bool:
    """Return whether the caller made the directory of a place, below the element's."""
    return (place.path or "").rstrip("/") != place.element.target.rstrip("/")


def is_unconfirmed(place: Placement) -> bool:
    """Whether this is a place that its node has not reported yet."""
    return place.held is not None and place.opened_at is None
