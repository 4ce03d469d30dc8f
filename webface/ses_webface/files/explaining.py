"""Who may see why a file went where it went, and the sentence that explains it."""

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.files import File, Received
from ses_client.messages.selections import PlacementRecord
from ses_client.messages.vocabulary import Vocabulary

from ses_webface.accounts.people import Person
from ses_webface.files.forms import VERDICTS
from ses_webface.shortfalls import expectation

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
    none = NotFoundError(f"There is no file {placement_id}.")
    record, received = None, _received(service, placement_id)
    try:
        record = service.placement(placement_id)
    except NotFoundError:
        if received is None:
            raise none from None
    for user, vo in _owners(record, received):
        if user != person.name and not person.is_admin and (vo is None or vo != person.managed_vo):
            raise none
    return record, received


def _received(service: ServiceClient, placement_id: str) -> Received | None:
    try:
        return service.file(placement_id)
    except NotFoundError:
        return None


def _owners(record: PlacementRecord | None, received: Received | None) -> list[tuple[str, str | None]]:
    owners = [] if record is None else [(record.subject.user, record.subject.vo)]
    return owners if received is None else [*owners, (received.user, received.vo)]


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
