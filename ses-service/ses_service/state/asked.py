"""A request for a decision before its requirements are resolved, and the size its decision counts on."""

from dataclasses import dataclass, replace
from typing import TypeVar

from ses_service.decision.nodes import NodeDecision
from ses_service.decision.question import HISTORY, Decision, Question
from ses_service.ledger.places import PlaceAsked
from ses_service.model.entities import Profile, Requirement, RequirementSet, Subject

D = TypeVar("D", Decision, NodeDecision)


@dataclass(slots=True)
class Asked:
    """What is asked.

    ``stripe_count`` is what the program asks for, ``path`` the name the file will have, ``profile`` one the
    request names, ``draft`` a set that counts in place of the one that is stored.  ``place``: a directory is
    asked for, and no file.
    """

    subject: Subject
    explicit: tuple[Requirement, ...] = ()
    storage_system: str | None = None
    exclude: frozenset[str] = frozenset()
    expected_bytes: float | None = None
    limit: int = 10
    stripe_count: int | None = None
    path: str | None = None
    profile: Profile | None = None
    draft: RequirementSet | None = None
    place: PlaceAsked | None = None


def sized(decision: D, question: Question, source: str | None) -> D:
    """Return a decision with the size it counts on."""
    size = question.room if source == HISTORY else question.expected_bytes
    return decision if source is None else replace(decision, expected_bytes=size, expected_from=source)
