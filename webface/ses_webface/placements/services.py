"""Whose placements a person may see, and the sentence that explains one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ses_webface.accounts.people import Person
from ses_webface.errors import NotFoundError
from ses_webface.selection_client import PlacementFilter, SelectionService
from ses_webface.selection_model import Placement
from ses_webface.shortfalls import expectation
from ses_webface.vocabulary import Vocabulary

MAX_LISTED = 100
_MAX_ASKED = 500
_ENDS = {
    "closed": "file closed",
    "exited": "program exited",
    "unused": "never used",
    "expired": "lease ran out",
    "failed": "create failed",
}


@dataclass(frozen=True, slots=True)
class Found:
    """Placements to list; ``without_file`` were left out because no file came of them."""

    placements: tuple[Placement, ...]
    without_file: int


def find(
    service: SelectionService, person: Person, *, path: str, element: str, state: str, user: str
) -> Found:
    """List placements; everybody but administrators sees their own only.

    ``state`` is one of the service's, ``all``, or anything else for those that became files:
    what a program decided in vain would hide the rest.
    """
    whose = (user or None) if person.is_admin else person.name
    wanted = PlacementFilter(
        user=whose,
        path=path or None,
        element=element or None,
        state=state if state in ("open", "ended") else None,
        limit=_MAX_ASKED,
    )
    found = service.placements(wanted, acting=person.name)
    files = found if wanted.state or state == "all" else tuple(filter(became_file, found))
    return Found(files[:MAX_LISTED], len(found) - len(files))


def verdicts(service: SelectionService, person: Person, user: str) -> Mapping[str, str]:
    """Return what became of the requirements of the latest files, by placement."""
    return service.verdicts((user or None) if person.is_admin else person.name, acting=person.name)


def became_file(record: Placement) -> bool:
    """Tell whether a program made a file of the placement."""
    return record.path is not None or record.opened_at is not None


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
    return "being written" if record.state == "open" else record.state


def because(record: Placement, words: Vocabulary) -> str:
    """Return, in a sentence or two, how this element came to be chosen."""
    if not record.requirements:
        return f"Nothing was asked for, so the place with the best rate left was taken: {record.element}."
    said = expectation(record.element, record.predicted, words)
    rank = next((one.rank for one in record.candidates if one.element == record.element), None)
    if rank == 1:
        return f"{said} It ranked first of {len(record.candidates)}."
    if rank is not None:
        return (
            f"{said} It ranked {rank} of {len(record.candidates)}: files decided just before took the others."
        )
    return said
