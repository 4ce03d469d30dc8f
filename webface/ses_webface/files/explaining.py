"""Who may see why a file went where it went, and the sentence that explains it."""

from collections.abc import Callable
from typing import TypeVar

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.files import File, Received
from ses_client.messages.selections import PlacementRecord
from ses_client.messages.vocabulary import Vocabulary

from ses_webface.accounts.people import Person
from ses_webface.files.forms import VERDICTS
from ses_webface.shortfalls import expectation

T = TypeVar("T")

_ENDS = {
    "closed": "file closed",
    "exited": "program exited",
    "unused": "never used",
    "expired": "lease ran out",
    "failed": "create failed",
}


def placed_and_received(
    service: ServiceClient, person: Person, placement_id: str
) -> tuple[PlacementRecord | None, Received | None]:
    """Return how a file was placed and what it received, as far as each is still kept.

    Raises NotFoundError, in the same words where it is somebody else's and the person may not see it.
    """
    record, received = _kept(service.placement, placement_id), _kept(service.file, placement_id)
    owners = [owner for owner in (record.subject if record else None, received) if owner is not None]
    if not owners or not all(_may_see(person, owner.user, owner.vo) for owner in owners):
        raise NotFoundError(f"There is no file {placement_id}.")
    return record, received


def _kept(question: Callable[[str], T], placement_id: str) -> T | None:
    try:
        return question(placement_id)
    except NotFoundError:
        return None


def _may_see(person: Person, user: str, vo: str | None) -> bool:
    return person.is_admin or user == person.name or (vo is not None and vo == person.managed_vo)


def verdict_words(verdict: str | None) -> str:
    """Return a verdict as people say it; empty for none."""
    return dict(VERDICTS).get(verdict, verdict) if verdict else ""


def state_words(record: PlacementRecord | File) -> str:
    """Return the state as people say it."""
    if record.state == "ended":
        return _ENDS.get(record.end_reason or "", record.end_reason or "ended")
    return "being written" if record.state == "open" else record.state


def because(record: PlacementRecord, words: Vocabulary) -> str:
    """Return, in a sentence or two, how this element came to be chosen."""
    if not record.requirements:
        return f"Nothing was asked for, so the place with the best rate left was taken: {record.element}."
    expected = expectation(record.element, record.predicted, words)
    rank = next(
        (candidate.rank for candidate in record.candidates if candidate.element == record.element), None
    )
    if rank == 1:
        return f"{expected} It ranked first of {len(record.candidates)}."
    if rank is not None:
        place = f"It ranked {rank} of {len(record.candidates)}"
        return f"{expected} {place}: files decided just before took the others."
    return expected
