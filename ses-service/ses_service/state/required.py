"""What anybody requires, of all requirement sets.  Pure."""

from collections.abc import Iterator

from ses_service.decision.resolve import SetIndex
from ses_service.model.entities import Level, Requirement
from ses_service.model.kinds import WRITE_RATES


def required(sets: SetIndex) -> Iterator[Requirement]:
    """Give what anybody requires; a profile counts for those that have it."""
    for (level, _), requirement_set in sets.items():
        if level is not Level.PROFILE:
            yield from requirement_set.with_profile


def required_kinds(sets: SetIndex) -> set[str]:
    """Return the kinds that anybody requires."""
    return {requirement.kind.value for requirement in required(sets)}


def write_rates(sets: SetIndex, now: float) -> Iterator[float]:
    """Give the rates of writing that are required now or later."""
    for requirement in required(sets):
        valid = requirement.valid_until is None or now < requirement.valid_until
        if requirement.kind in WRITE_RATES and valid:
            yield requirement.bound
