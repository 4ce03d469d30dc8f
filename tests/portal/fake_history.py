"""The history part of the selection service inside the process.

Keeps each change of a requirement set with both states, and undoes one as the real service does: by a
further one, and not over what was changed since.  It does NOT know changes of the site.
"""

from datetime import UTC, datetime

from ses_client.errors import ConflictError, NotFoundError
from ses_client.messages.knowledge import (
    Change,
    ChangeMade,
    ChangePage,
    ChangeStates,
    State,
    StatedSet,
    subject_of_set,
)
from ses_client.messages.requirements import RequirementSet

_PAGE = 50


class HistoryInMemory:
    """Changes by number; ``extra_changes`` are listed, too (for pages about changes of the site)."""

    _sets: dict[tuple[str, str], RequirementSet]
    person: str

    def __init__(self) -> None:
        self.extra_changes: list[tuple[Change, State]] = []
        self._made: list[tuple[Change, State]] = []

    def changes(self, *, before: int | None = None, subject: str | None = None) -> ChangePage:
        self._called()
        wanted = (
            subject_of_set(*subject.split("/", 1))
            if subject and ":" not in subject.split("/")[0]
            else subject
        )
        changes = [
            change
            for change, state in sorted(self._all(), key=lambda pair: -pair[0].number)
            if (before is None or change.number < before) and wanted in (None, state.subject)
        ]
        return ChangePage(
            changes=tuple(changes[:_PAGE]), next=changes[_PAGE - 1].number if len(changes) > _PAGE else None
        )

    def change(self, number: int, *, after: str = "") -> ChangeStates:
        self._called()
        states = tuple(state for change, state in self._all() if change.number == number)
        if not states:
            raise NotFoundError(f"There is no change {number} (any more).")
        return ChangeStates(number=number, states=tuple(state for state in states if state.subject > after))

    def undo(self, number: int, **_how: bool) -> ChangeMade:
        """It neither forces nor tries."""
        (state,) = self.change(number).states
        later = [
            change.number for change, other in self._all() if other.subject == state.subject
            and change.number > number
        ]  # fmt: skip
        current = next(stated for key, stated in self._sets.items() if subject_of_set(*key) == state.subject)
        left = state.set_after or StatedSet(level=current.level, name=current.name)
        if (current.requirements, current.profile) != (left.requirements, left.profile):
            raise ConflictError(f"{state.subject} was changed again after change {number} by {later}.", 409)
        before = state.set_before or StatedSet(level=current.level, name=current.name)
        saved = RequirementSet(
            level=current.level,
            name=current.name,
            requirements=before.requirements,
            revision=current.revision + 1,
            modified_at=current.modified_at,
            modified_by=self.person,
            profile=before.profile,
        )
        self._record(current, saved, undid=number)
        self._sets[current.level, current.name] = saved
        return ChangeMade(change=self._made[-1][0].number)

    def _all(self) -> list[tuple[Change, State]]:
        return [*self._made, *self.extra_changes]

    def _record(self, before: RequirementSet, after: RequirementSet, undid: int | None = None) -> None:
        number = 1 + max((change.number for change, _state in self._all()), default=0)
        subject = subject_of_set(after.level, after.name)
        reason = f"undo of change {undid}" if undid else f"requirements of {after.level} {after.name}"
        at = datetime.fromtimestamp(after.modified_at or 0.0, UTC).isoformat()
        change = Change(
            number=number,
            at=at,
            author=after.modified_by or "",
            reason=reason,
            subjects=1,
            subject=subject,
            undone=undid,
        )
        was = (
            StatedSet(
                level=after.level, name=after.name, requirements=before.requirements, profile=before.profile
            )
            if before.revision
            else None
        )
        state = State(
            subject=subject,
            before="" if was else None,
            after="",
            set_before=was,
            set_after=StatedSet(
                level=after.level, name=after.name, requirements=after.requirements, profile=after.profile
            ),
        )
        self._made.append((change, state))
