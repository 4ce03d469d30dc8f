"""Which changes a person sees, which of them they may undo, and what stands against it."""

from dataclasses import dataclass

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.knowledge import Change, ChangeStates, State, set_named_by

from ses_webface.accounts.people import Person
from ses_webface.requirements.services import home_vo, may_edit

_ENOUGH = 25
_MAX_CALLS = 10


@dataclass(frozen=True, slots=True)
class Listing:
    """Changes, the latest first; ``older`` is the number to go on before, None at the end."""

    changes: tuple[Change, ...]
    older: int | None
    undone_by: dict[int, int]


@dataclass(frozen=True, slots=True)
class Details:
    """One change with what it did to each subject the person may see; ``hidden`` are the others.

    ``later`` are changes of the same subjects since, the earliest first; ``undone_by`` is the one that
    undid it.  ``next`` is the subject to go on after.
    """

    change: Change
    states: tuple[State, ...]
    hidden: int
    next: str | None
    later: tuple[Change, ...]
    undone_by: int | None
    may_undo: bool


class Sight:
    """What of the history one person sees: the site's, their own, and what is given to them."""

    def __init__(self, service: ServiceClient, person: Person) -> None:
        self._person = person
        self._vo = None if person.is_admin else home_vo(service, person)

    def covers(self, subject: str) -> bool:
        """Return whether the person may see what happened to a subject."""
        named = set_named_by(subject)
        if named is None or self._person.is_admin:
            return True
        level, name = named
        return level == "site" or (level == "vo" and name == self._vo) or may_edit(self._person, level, name)


def listing(service: ServiceClient, person: Person, *, before: int | None, subject: str | None) -> Listing:
    """List changes below a number, of one subject or of all a person sees."""
    sight, listed = Sight(service, person), list[Change]()
    for _ in range(_MAX_CALLS):
        page = service.changes(before=before, subject=subject)
        listed += [
            change for change in page.changes if change.author == person.name or sight.covers(change.subject)
        ]
        before = page.next
        if before is None or len(listed) >= _ENOUGH:
            break
    return Listing(
        tuple(listed),
        before,
        {change.undone: change.number for change in listed if change.undone is not None},
    )


def details(service: ServiceClient, person: Person, number: int, *, after: str = "") -> Details:
    """Return what one change did; raises NotFoundError for one unknown or of others alone."""
    did = service.change(number, after=after)
    page = service.changes(before=number + 1)
    change = next((change for change in page.changes if change.number == number), None)
    sight = Sight(service, person)
    seen = tuple(state for state in did.states if sight.covers(state.subject))
    if change is None or not seen:
        raise NotFoundError(f"There is no change {number} (any more).")
    later = _later(service, number, seen)
    return Details(
        change=change,
        states=seen,
        hidden=len(did.states) - len(seen),
        next=did.next,
        later=later,
        undone_by=next((change.number for change in later if change.undone == number), None),
        may_undo=not after and _may_undo(person, did),
    )


def undo(service: ServiceClient, person: Person, number: int) -> int | None:
    """Undo a change; returns the number of the one that did, None when nothing was to be done.

    Raises PermissionError when the person may not, ConflictError when it would lose a later change.
    """
    if not _may_undo(person, service.change(number)):
        raise PermissionError(f"{person.name} may not undo change {number}")
    return service.undo(number).change


def reversed_states(states: tuple[State, ...]) -> tuple[State, ...]:
    """Return what undoing would do to each subject."""
    return tuple(
        state.but(
            before=state.after, after=state.before, set_before=state.set_after, set_after=state.set_before
        )
        for state in states
    )


def _may_undo(person: Person, did: ChangeStates) -> bool:
    """Return whether a person may undo: every set is theirs to change; the site is administrators'."""
    named = [set_named_by(state.subject) for state in did.states]
    return did.next is None and all(
        person.is_admin if subject is None else may_edit(person, *subject) for subject in named
    )


def _later(service: ServiceClient, number: int, states: tuple[State, ...]) -> tuple[Change, ...]:
    """Return the changes of the first of these subjects since; of more than one nobody asks."""
    page = service.changes(subject=states[0].subject)
    return tuple(
        sorted(
            (change for change in page.changes if change.number > number), key=lambda change: change.number
        )
    )
