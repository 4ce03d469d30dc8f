"""What the portal needs from the selection service, as one interface.

The real one is :class:`ses_webface.selection_http.HttpSelectionService`; tests have one inside the process.
Every method may raise the errors of
:mod:`ses_webface.errors`; none waits longer than the time-out the form was made with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ses_webface.changes_model import ChangePage, ChangeStates
from ses_webface.files_model import FileFilter, FilePage, Received, Report
from ses_webface.selection_model import (
    Effective,
    Placement,
    Requirement,
    RequirementSet,
    Selection,
    Storage,
    Subject,
)
from ses_webface.vocabulary import Vocabulary
from ses_webface.workloads_model import Expansion


@dataclass(frozen=True, slots=True)
class PlacementFilter:
    """Which placements to list; None does not filter.  ``path`` is a whole path, not a part."""

    user: str | None = None
    path: str | None = None
    element: str | None = None
    state: str | None = None
    limit: int = 50


class SelectionService(Protocol):
    """The selection service, as the portal sees it.  ``acting`` is the person it asks for."""

    def requirement_set(self, level: str, name: str, *, acting: str) -> RequirementSet:
        """Return one set; a set that was never saved is empty with revision 0."""
        ...

    def requirement_sets(self, user: str, *, acting: str) -> tuple[RequirementSet, ...]:
        """Return every set that can apply to ``user``: theirs, their applications', VO and site."""
        ...

    def replace_requirements(
        self,
        level: str,
        name: str,
        requirements: tuple[Requirement, ...],
        *,
        profile: str | None = None,
        revision: int,
        acting: str,
    ) -> RequirementSet:
        """Save a set read at ``revision``, with the profile it takes up.

        Raises RevisionConflictError, with nothing written, when the set has another revision by now.
        """
        ...

    def vocabulary(self, *, acting: str) -> Vocabulary:
        """Return the kinds of requirement and the profiles there are."""
        ...

    def expand_sentence(self, sentence: str, values: Mapping[str, str], *, acting: str) -> Expansion:
        """Return what a sentence about a program requires; ``values`` go before those it names.

        Stores nothing.  Raises RefusedError, which says what would fit, for what does not.
        """
        ...

    def changes(self, *, before: int | None = None, subject: str | None = None, acting: str) -> ChangePage:
        """Return changes below a number, the latest first; ``subject`` is an IRI or LEVEL/NAME of a set."""
        ...

    def change(self, number: int, *, after: str = "", acting: str) -> ChangeStates:
        """Return what one change did, from the subject after ``after`` on; raises NotFoundError."""
        ...

    def undo(self, number: int, *, acting: str) -> int | None:
        """Undo a change and return the number of the one that did; None when nothing was to be done.

        Raises ChangedSinceError, with nothing written, when what it left was changed again.
        """
        ...

    def effective(self, subject: Subject, *, acting: str) -> Effective:
        """Return what applies to ``subject``, the level each came from, and the VO that counts."""
        ...

    def select(self, subject: Subject, requirements: tuple[Requirement, ...], *, acting: str) -> Selection:
        """Rank the elements for ``subject`` asking explicitly for ``requirements``; books nothing."""
        ...

    def storage(self, *, acting: str) -> Storage:
        """Return every element with what is known of it now."""
        ...

    def placements(self, wanted: PlacementFilter, *, acting: str) -> tuple[Placement, ...]:
        """Return placements, the last one first, without candidates and refusals."""
        ...

    def placement(self, placement_id: str, *, acting: str) -> Placement:
        """Return one placement with its candidates and refusals; raises NotFoundError."""
        ...

    def received(self, placement_id: str, *, acting: str) -> Received | None:
        """Return what a file received; None where the service does not say."""
        ...

    def files(self, wanted: FileFilter, *, after: str | None, limit: int, acting: str) -> FilePage:
        """Return some files, at most 1000; ``after`` is ``next`` of the page before."""
        ...

    def report(self, wanted: FileFilter, *, acting: str) -> Report:
        """Sum files up that ended; of the filter, state, verdict and path do not count."""
        ...

    def tell_accounts(self, homes: Mapping[str, str]) -> None:
        """Tell the VO of each account that has one, by user, in place of what was told before."""
        ...

    def check(self) -> None:
        """Return when the service answers; raises ServiceUnavailableError when it does not."""
        ...
