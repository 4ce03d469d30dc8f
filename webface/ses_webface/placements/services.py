"""Whose placements a person may see, and the sentence that explains one."""

from __future__ import annotations

from ses_webface.accounts.services import Person
from ses_webface.errors import NotFoundError
from ses_webface.quantities import show_number
from ses_webface.selection_client import PlacementFilter, SelectionService
from ses_webface.selection_model import Placement

_MAX_LISTED = 100
_ENDS = {
    "closed": "file closed",
    "exited": "program exited",
    "unused": "never used",
    "expired": "lease ran out",
    "failed": "create failed",
}


def find(
    service: SelectionService, person: Person, *, path: str, element: str, state: str, user: str
) -> tuple[Placement, ...]:
    """List placements; everybody but administrators sees their own only."""
    whose = (user or None) if person.is_admin else person.name
    wanted = PlacementFilter(
        user=whose,
        path=path or None,
        element=element or None,
        state=state if state in ("booked", "open", "ended") else None,
        limit=_MAX_LISTED,
    )
    return service.placements(wanted, acting=person.name)


def one(service: SelectionService, person: Person, placement_id: str) -> Placement:
    """Return one placement; somebody else's looks like one that does not exist."""
    record = service.placement(placement_id, acting=person.name)
    if record.subject.user != person.name and not person.is_admin:
        raise NotFoundError(f"There is no placement {placement_id}.")
    return record


def state_words(record: Placement) -> str:
    """Return the state as people say it."""
    if record.state == "ended":
        return _ENDS.get(record.end_reason or "", record.end_reason or "ended")
    return {"booked": "waiting for the file", "open": "being written"}.get(record.state, record.state)


def because(record: Placement) -> str:
    """Return, in one sentence, why this element was chosen."""
    if not record.requirements:
        return f"Nothing was asked for, so the element with the best rate left was taken: {record.element}."
    met = [one for one in record.predicted if one.shortfall <= 0]
    if record.distance < 0.005:
        rest = len(record.candidates) - 1
        same = sum(1 for other in record.candidates if other.distance < 0.005) - 1
        if rest > 0 and same > 0:
            return (
                f"{record.element} met everything asked for, like {same} of {rest} others, and ranked first."
            )
        return f"{record.element} met everything asked for."
    worst = max(record.predicted, key=lambda one: one.shortfall, default=None)
    if worst is None:
        return f"No element met everything; {record.element} came closest."
    return (
        f"No element met everything; {record.element} came closest: it was expected to give "
        f"{show_number(worst.value)} {worst.unit} of the {show_number(worst.minimum)} {worst.unit} asked for"
        f"{', and met the rest' if met else ''}."
    )
