"""Lists of files: what is open, from the ledger, before what ended, from the database.

Without a database, what ended is what the ledger still keeps of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ses_service.decision.what_if import Miss
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.errors import UnknownPlacementError
from ses_service.ledger.files import By, Detail, File, Group, Page, Wanted, accepts, file_of, of_forecast
from ses_service.ledger.placement import Candidate, Placement, PlacementState
from ses_service.process.placements import Placements
from ses_service.state.state import ServiceState
from ses_service.store.files import FileHistory
from ses_service.store.journal import Journal

_OPEN, _ENDED = "open", "ended"
_HOUR = 3600.0
_EVERYTHING = 10**9
_MISSES = 30  # that are looked at one by one


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a list goes on: after an open file or one that ended, by its time and id."""

    state: str
    moment: float
    placement_id: str

    @classmethod
    def of(cls, text: str) -> Cursor:
        """Return the cursor of a text; raises ValueError."""
        state, moment, placement_id = text.split(":", 2)
        if state not in (_OPEN, _ENDED):
            raise ValueError(f"{state} is no state")
        return cls(state, float(moment), placement_id)

    def __str__(self) -> str:
        return f"{self.state}:{self.moment!r}:{self.placement_id}"


class Files:
    """What people ask about files.  Methods raise DatabaseError while the database does not answer."""

    def __init__(
        self,
        state: ServiceState,
        placements: Placements,
        history: FileHistory | None,
        journal: Journal | None = None,
    ) -> None:
        self._state = state
        self._placements = placements
        self._history = history
        self._journal = journal

    def page(
        self, wanted: Wanted, state: str | None, after: Cursor | None, limit: int
    ) -> tuple[list[File], Cursor | None]:
        """Return some of the files asked for, and where the list goes on."""
        files: list[File] = []
        if state != _ENDED and wanted.verdict is None and (after is None or after.state == _OPEN):
            files = self._open(wanted, after)
            if len(files) > limit:
                last = files[limit - 1]
                return files[:limit], Cursor(_OPEN, last.opened_at, last.placement_id)
        if state == _OPEN:
            return files, None
        if after is not None and after.state == _ENDED:
            wanted = replace(wanted, after=(after.moment, after.placement_id))
        room = limit - len(files)
        if room == 0:
            return files, Cursor(_ENDED, 1e11, "")
        self._settle()
        page = self._ended(wanted, room)
        return [*files, *page.files], None if page.next is None else Cursor(_ENDED, *page.next)

    def file(self, placement_id: str) -> tuple[File, Detail]:
        """Return a file with all that is known of it.  Raises UnknownPlacementError."""
        try:
            known = self._placements.placement(placement_id)
        except UnknownPlacementError:
            stored = None if self._history is None else self._history.detail(placement_id)
            if stored is None:
                raise
            return stored
        stored = None
        if known.state is PlacementState.ENDED and known.file_verdict is None and self._history is not None:
            stored = self._history.detail(placement_id)  # it ended before a restart
        return stored or (file_of(known), Detail(known.achieved, known.file_verdict))

    def groups(self, wanted: Wanted) -> tuple[list[Group], bool]:
        """Return the files asked for that ended, in groups, and whether these are all."""
        if self._history is not None:
            self._settle()
            return self._history.groups(wanted)
        files = self._ended(wanted, _EVERYTHING).files
        return [group for file in files for group in _groups(file)], True

    def misses(self, wanted: Wanted) -> list[Miss]:
        """Return the latest files asked for that missed, with what was known when they were created."""
        latest = self._ended(replace(wanted, verdict=Verdict.MISSED), _MISSES).files
        return [Miss(file, self._candidates(file.placement_id)) for file in latest]

    def _settle(self) -> None:
        """Let what ended reach the history: it is in no list meanwhile."""
        if self._journal is not None:
            self._journal.settle()

    def _candidates(self, placement_id: str) -> tuple[Candidate, ...]:
        try:
            return self._placements.explained(self._placements.placement(placement_id)).candidates
        except UnknownPlacementError:
            return ()

    def _open(self, wanted: Wanted, after: Cursor | None) -> list[File]:
        accept = accepts(replace(wanted, since=None, until=None, after=None))
        key = None if after is None else (after.moment, after.placement_id)
        exact = {"state": PlacementState.OPEN.value, **({} if wanted.user is None else {"user": wanted.user})}
        kept = self._placements.listed(
            lambda placement: placement.state is PlacementState.OPEN, _EVERYTHING, exact
        )
        files = [file for file in map(file_of, kept) if accept(file)]
        files.sort(key=lambda file: (file.opened_at, file.placement_id), reverse=True)
        return [file for file in files if key is None or (file.opened_at, file.placement_id) < key]

    def _ended(self, wanted: Wanted, limit: int) -> Page:
        if self._history is not None:
            return self._history.page(wanted, limit)
        accept = accepts(wanted)

        def judged(placement: Placement) -> bool:
            return placement.file_verdict is not None and accept(file_of(placement))

        kept = map(file_of, self._state.placements(judged, _EVERYTHING))
        files = sorted(kept, key=lambda file: (file.ended_at or 0.0, file.placement_id), reverse=True)
        last = files[limit - 1] if len(files) > limit else None
        return Page(tuple(files[:limit]), None if last is None else (last.ended_at or 0.0, last.placement_id))


def _groups(file: File) -> list[Group]:
    short = 0.0
    if file.bound and file.achieved is not None:
        short = max(0.0, 1.0 - file.achieved / file.bound)
    names = {
        By.ELEMENT: file.element,
        By.HOUR: f"{(file.ended_at or 0.0) // _HOUR * _HOUR:.0f}",
        By.APPLICATION: file.application or "",
        By.JOB: file.job or "",
        By.USER: file.user,
        By.VO: file.vo or "",
        By.KIND: file.kind or "",
    }
    ratio = of_forecast(file)
    forecast = (0, 0.0) if ratio is None else (1, ratio)
    return [Group(by, name, file.verdict, file.cause, 1, short, *forecast) for by, name in names.items()]
