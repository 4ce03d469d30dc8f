"""Keeps the ledger's records and the history of sizes, and reads them at a start.

Makes rows of them; who puts these into the database is :mod:`ses_service.store.writer`.  Belongs to one
thread at a time.  Everything it writes can be written again: after an error nobody knows whether the last
transaction was committed, so what it held is simply said again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

import sqlalchemy as sa

from ses_service.ledger.placement import Placement
from ses_service.ledger.size_history import SizeKey, Sizes
from ses_service.store import rows
from ses_service.store.database import Database
from ses_service.store.files import FileHistory, detail_values, file_values
from ses_service.store.parts import Writes, removing, saving
from ses_service.store.rows import Explanation
from ses_service.store.tables import EXPLANATION, FILE, FILE_DETAIL, PLACEMENT, SIZE_HISTORY
from ses_service.store.upsert import Values

_FORGOTTEN_AT_ONCE = 2000
_ROWS_AT_ONCE = 32  # made in less than half a millisecond

_NO_ROWS: tuple[()] = ()
_PLACEMENT_VALUES = itemgetter(*PLACEMENT.c.keys())
_SIZE_VALUES = itemgetter(*SIZE_HISTORY.c.keys())


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a database held: what ended first comes first, what has not ended last.

    ``unreadable`` counts rows that cannot be understood and were left alone.
    """

    placements: tuple[Placement, ...]
    sizes: tuple[tuple[SizeKey, Sizes], ...]
    unreadable: int


class RecordStore:
    """The tables of one database.  ``writer`` writes it."""

    def __init__(self, database: Database, writer: Writes) -> None:
        self.database = database
        self._writer = writer
        self.files = FileHistory(database)
        self._explanation_of: dict[str, str | None] = {}
        self._uses: Counter[str] = Counter()

    def open(self) -> bool:
        """Take the right to write and bring the tables up to date; return whether they are as we left them.

        They are not when they were missing, or when another process wrote them last.  Raises DatabaseError,
        DatabaseInUseError and DatabaseUrlError.
        """
        return self._writer.open()

    def set_aside(self) -> None:
        """Rename a damaged file, so that ``open`` makes a new one.  Raises DatabaseError."""
        with self.database.closed():
            self._writer.set_aside()

    def load(self) -> Loaded:
        """Read everything but explanations.  Raises DatabaseError."""
        placements: list[Placement] = []
        sizes: list[tuple[SizeKey, Sizes]] = []
        unreadable = 0
        order = (PLACEMENT.c.ended_at.is_(None), PLACEMENT.c.ended_at, PLACEMENT.c.placement_id)
        explanation_of: dict[str, str | None] = {}
        with self.database.transaction(reading=True) as connection:
            for row in connection.execute(sa.select(PLACEMENT).order_by(*order)).mappings():
                try:
                    placements.append(rows.placement_of(dict(row), Explanation()))
                except (ValueError, KeyError, TypeError, IndexError):
                    unreadable += 1
                else:
                    explanation_of[row["placement_id"]] = row["explanation_id"]
            for row in connection.execute(sa.select(SIZE_HISTORY).order_by("last_at", "digest")).mappings():
                try:
                    sizes.append(rows.size_of(dict(row)))
                except (ValueError, KeyError, TypeError):
                    unreadable += 1
        self._know(explanation_of)
        return Loaded(tuple(placements), tuple(sizes), unreadable)

    def explanation(self, placement_id: str) -> Explanation:
        """Return the explanation of a placement, an empty one if none is stored.  Raises DatabaseError."""
        joined = PLACEMENT.join(EXPLANATION, PLACEMENT.c.explanation_id == EXPLANATION.c.explanation_id)
        found = sa.select(EXPLANATION.c.body).select_from(joined)
        with self.database.transaction(reading=True) as connection:
            body = connection.execute(found.where(PLACEMENT.c.placement_id == placement_id)).scalar()
        return rows.read_explanation(body)

    def write(
        self,
        changes: Sequence[tuple[str, Placement | None]],
        sizes: Sequence[tuple[SizeKey, Sizes | None]] = _NO_ROWS,
        *,
        whole: bool = False,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """Store how placements and sizes stand now (``None``: they are gone), in one transaction.

        ``whole``: these are all there are, and what else is stored is removed; explanations stay with the
        placements that stay.  ``between`` is called whenever another thread may well go first.  Raises
        DatabaseError.
        """
        gone = [placement_id for placement_id, placement in changes if placement is None]
        forgotten = [key.digest for key, one in sizes if one is None]
        if whole:
            more_gone, more_forgotten = self._rest(changes, sizes)
            gone += more_gone
            forgotten += more_forgotten
        known = self._explanation_of
        explained: dict[str, str | None] = {}
        bodies: list[Values] = []
        shared: dict[tuple[int, int, int], str | None] = {}
        placed: list[Values] = []
        files: list[Values] = []
        details: list[Values] = []
        for number, (placement_id, placement) in enumerate(changes):
            if number % _ROWS_AT_ONCE == 0:
                between()
            if placement is None:
                continue
            if placement_id not in known:
                parts = (placement.requirements, placement.candidates, placement.refused)
                key = (id(parts[0]), id(parts[1]), id(parts[2]))
                if key not in shared:
                    body = rows.explanation_of(placement)
                    shared[key] = None if body is None else placement_id
                    if body is not None:
                        bodies.append((placement_id, body))
                explained[placement_id] = shared[key]
            placed.append(_PLACEMENT_VALUES(rows.row_of(placement, explained.get(placement_id))))
            if placement.judgement is not None:
                files.append(file_values(placement))
                details.append(detail_values(placement))
        freed = Counter(filter(None, (known.get(placement_id) for placement_id in gone)))
        unused = [one for one, count in freed.items() if self._uses[one] <= count]
        known_sizes = [_SIZE_VALUES(rows.size_row(key, one)) for key, one in sizes if one is not None]
        self._writer.write(
            [
                saving(EXPLANATION, bodies),
                saving(PLACEMENT, placed),
                saving(FILE, files),
                saving(FILE_DETAIL, details),
                saving(SIZE_HISTORY, known_sizes),
                removing(PLACEMENT, gone),
                removing(EXPLANATION, unused),
                removing(SIZE_HISTORY, forgotten),
            ],
            between,
        )
        self._explanation_of.update(explained)
        self._uses.update(filter(None, explained.values()))
        for placement_id in gone:
            self._explanation_of.pop(placement_id, None)
        for one, count in freed.items():
            self._uses[one] -= count
            if self._uses[one] <= 0:
                del self._uses[one]

    def forget_files(self, moment: float) -> int:
        """Remove some of the files that ended before a time; return how many.  Raises DatabaseError."""
        gone = self.files.ended_before(moment, _FORGOTTEN_AT_ONCE)
        if gone:
            self._writer.write([removing(FILE, gone), removing(FILE_DETAIL, gone)])
        return len(gone)

    def _rest(
        self, changes: Sequence[tuple[str, Placement | None]], sizes: Iterable[tuple[SizeKey, Sizes | None]]
    ) -> tuple[list[str], list[str]]:
        """Return the ids and digests that are stored and not among these; learn anew what is explained."""
        placed = sa.select(PLACEMENT.c.placement_id, PLACEMENT.c.explanation_id)
        with self.database.transaction(reading=True) as connection:
            self._know({row.placement_id: row.explanation_id for row in connection.execute(placed)})
            digests = list(connection.execute(sa.select(SIZE_HISTORY.c.digest)).scalars())
        given, said = {one for one, _ in changes}, {key.digest for key, _ in sizes}
        return [one for one in self._explanation_of if one not in given], [
            one for one in digests if one not in said
        ]

    def _know(self, explanation_of: dict[str, str | None]) -> None:
        self._explanation_of = explanation_of
        self._uses = Counter(filter(None, explanation_of.values()))
