"""Keeps the ledger's records and the history of sizes, and reads them at a start.

Makes rows of them; :mod:`ses_service.store.writer` puts these into the database.  Belongs to one thread at a
time.  Everything it writes can be written again: after an error nobody knows whether the last
transaction was committed, so what it held is simply written again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter

import sqlalchemy as sa
from ses_state import _state

from ses_service.ledger.placement import PeerPlacement, Placement
from ses_service.ledger.size_history import SizeKey, Sizes
from ses_service.store import rows, writer
from ses_service.store.database import Database, at_once
from ses_service.store.files import FileHistory
from ses_service.store.ownership import living
from ses_service.store.rows import Explanation
from ses_service.store.tables import EXPLANATION, FILE, PLACEMENT, SERVICE, SIZE_HISTORY

_FORGOTTEN_AT_ONCE = 2000

_NO_ROWS: tuple[()] = ()
_PEER_COLUMNS = ("placement_id", "service", "node", "elements", "placed_at", "expected_bytes")
_key = itemgetter(0)  # of a row or change; two services that write in one order do not wait for each other


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a database held that is ours now: what ended first comes first, what has not ended last.

    ``unreadable`` counts rows that cannot be understood and were left alone.
    """

    placements: tuple[Placement, ...]
    sizes: tuple[tuple[SizeKey, Sizes], ...]
    unreadable: int


@dataclass(frozen=True, slots=True)
class _PlacementRows:
    """Rows of placements; ``explanation_of`` has the explanation of each that was not stored before."""

    placements: _state.Rows
    explanations: _state.Rows
    explanation_of: dict[str, str | None]
    files: _state.Rows


class RecordStore:
    """The tables of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.files = FileHistory(database)
        self._explanation_of: dict[str, str | None] = {}
        self._uses: Counter[str] = Counter()

    def open(self) -> bool:
        """Take the right to write and bring the tables up to date; return whether they are as we left them.

        They are not when they were missing, or when another service took ours over.  Raises DatabaseError,
        DatabaseInUseError and DatabaseUrlError.
        """
        return writer.open_tables(self.database)

    def set_aside(self) -> None:
        """Rename a damaged file, so that ``open`` makes a new one.  Raises DatabaseError."""
        self.database.own()
        self.database.set_aside()

    def gone(self) -> list[str]:
        """Return the services that left placements here and do not run any more.  Raises DatabaseError."""
        carrying = sa.union(sa.select(SERVICE.c.service), sa.select(PLACEMENT.c.service))
        with self.database.transaction(reading=True) as connection:
            others = set(connection.execute(carrying).scalars()) - {self.database.owner}
            return sorted(others - (living(connection, others) if self.database.shared else set()))

    def load(
        self,
        gone: Sequence[str] | None = None,
        left: Sequence[str] = (),
    ) -> Loaded:
        """Take over what services left that are gone: these, or all that are; and ``left`` where it is open.

        Reads all of ours that was not read or written yet, but for explanations.  Raises DatabaseError.
        """
        gone = self.gone() if gone is None else gone
        if gone or left:
            with self.database.writing() as connection:
                writer.adopt(connection, gone, self.database.owner)
                writer.adopt_open(connection, left, self.database.owner)
        placements: list[Placement] = []
        unreadable = 0
        order = (PLACEMENT.c.ended_at.is_(None), PLACEMENT.c.ended_at, PLACEMENT.c.placement_id)
        ours = sa.select(PLACEMENT).where(PLACEMENT.c.service == self.database.owner).order_by(*order)
        explanation_of: dict[str, str | None] = {}
        with self.database.transaction(reading=True) as connection:
            for row in connection.execute(ours).mappings():
                if row["placement_id"] in self._explanation_of:
                    continue
                try:
                    placements.append(rows.placement_of(dict(row), Explanation()))
                except (ValueError, KeyError, TypeError, IndexError):
                    unreadable += 1
                else:
                    explanation_of[row["placement_id"]] = row["explanation_id"]
        sizes, more = self.sizes()
        self._explanation_of.update(explanation_of)
        self._uses.update(filter(None, explanation_of.values()))
        return Loaded(tuple(placements), tuple(sizes), unreadable + more)

    def of_ids(self, ids: Sequence[str]) -> list[Placement]:
        """Return the stored ones of these placements, without explanations.  Raises DatabaseError."""
        return self._select(PLACEMENT.c.placement_id.in_(ids))

    def of_peers(self, exact: Mapping[str, str], element: str | None, limit: int) -> list[Placement]:
        """Return placements of other services by values of columns, the latest first, without explanations.

        Raises DatabaseError.
        """
        conditions = [PLACEMENT.c.service != self.database.owner]
        conditions += [PLACEMENT.c[name] == value for name, value in exact.items()]
        if element is not None:
            conditions.append(PLACEMENT.c.elements.contains(json.dumps(element), autoescape=True))
        return self._select(*conditions, limit=limit)

    def _select(self, *conditions: sa.ColumnElement[bool], limit: int | None = None) -> list[Placement]:
        asked = sa.select(PLACEMENT).where(*conditions).limit(limit)
        order = (PLACEMENT.c.placed_at.desc(), PLACEMENT.c.placement_id.desc())
        placements = []
        with self.database.transaction(reading=True) as connection:
            for row in connection.execute(asked.order_by(*order)).mappings():
                with suppress(ValueError, KeyError, TypeError, IndexError):
                    placements.append(rows.placement_of(dict(row), Explanation()))
        return placements

    def peer_placements(self, now: float, ids: Collection[str] | None = None) -> list[PeerPlacement]:
        """Return what other services carry and is a stream, of these placements or of all.

        Raises DatabaseError.
        """
        asked = sa.select(
            *(PLACEMENT.c[name] for name in _PEER_COLUMNS),
        ).where(PLACEMENT.c.service != self.database.owner, PLACEMENT.c.ended_at.is_(None), ~PLACEMENT.c.idle)
        if ids is not None:
            asked = asked.where(PLACEMENT.c.placement_id.in_(ids))
        peer_placements = []
        with self.database.transaction(reading=True) as connection:
            for row in connection.execute(asked).mappings():
                with suppress(ValueError, KeyError, TypeError, IndexError):
                    peer_placements.append(rows.peer_placement_of(dict(row), now))
        return peer_placements

    def services(self) -> tuple[set[str], set[str]]:
        """Return the other services that have placements here, and those of them that run.

        Raises DatabaseError.
        """
        with self.database.transaction(reading=True) as connection:
            others = set(connection.execute(sa.select(SERVICE.c.service)).scalars()) - {self.database.owner}
            return others, living(connection, others)

    def sizes(self) -> tuple[list[tuple[SizeKey, Sizes]], int]:
        """Return the history of sizes, and how many rows are unreadable.  Raises DatabaseError."""
        sizes: list[tuple[SizeKey, Sizes]] = []
        unreadable = 0
        with self.database.transaction(reading=True) as connection:
            for row in connection.execute(sa.select(SIZE_HISTORY).order_by("last_at", "digest")).mappings():
                try:
                    sizes.append(rows.size_of(dict(row)))
                except (ValueError, KeyError, TypeError):
                    unreadable += 1
        return sizes, unreadable

    def explanation(self, placement_id: str) -> Explanation:
        """Return the explanation of a placement, an empty one if none is stored.  Raises DatabaseError."""
        joined = PLACEMENT.join(EXPLANATION, PLACEMENT.c.explanation_id == EXPLANATION.c.explanation_id)
        query = sa.select(EXPLANATION.c.body).select_from(joined)
        with self.database.transaction(reading=True) as connection:
            body = connection.execute(query.where(PLACEMENT.c.placement_id == placement_id)).scalar()
        return rows.read_explanation(body)

    def write(
        self,
        changes: Sequence[tuple[str, Placement | None]],
        sizes: Sequence[tuple[SizeKey, Sizes | None]] = _NO_ROWS,
        *,
        whole: bool = False,
        notifications: Sequence[str] = _NO_ROWS,
    ) -> None:
        """Store how placements and sizes stand now (``None``: they are gone), in one transaction.

        ``whole``: these are all there are, and what else we stored is removed; explanations stay with the
        placements that stay.  ``notifications`` are sent to other services then.  Raises DatabaseError.
        """
        gone = [placement_id for placement_id, placement in changes if placement is None]
        forgotten = [key.digest for key, learned in sizes if learned is None]
        if whole:
            more_gone, more_forgotten = self._rest(changes, sizes)
            gone += more_gone
            forgotten += more_forgotten
        placement_rows = self._rows_of(sorted(changes, key=_key))
        known_sizes = [rows.size_row(key, learned) for key, learned in sizes if learned is not None]
        freed = Counter(filter(None, (self._explanation_of.get(placement_id) for placement_id in gone)))
        unused = [explanation for explanation, count in freed.items() if self._uses[explanation] <= count]
        saved = (
            (EXPLANATION, placement_rows.explanations),
            (PLACEMENT, placement_rows.placements),
            (FILE, placement_rows.files),
            (SIZE_HISTORY, _state.Rows(sorted(known_sizes, key=_key))),
        )
        removed = (PLACEMENT, gone), (EXPLANATION, unused), (SIZE_HISTORY, forgotten)
        if notifications or any(len(values) for _, values in (*saved, *removed)):
            with self.database.writing() as connection, at_once(connection):
                for table, values in saved:
                    writer.save(connection, table, values)
                for table, keys in removed:
                    writer.remove(connection, table, keys, self.database.owner)
                writer.notify(connection, notifications)
        self._explanation_of.update(placement_rows.explanation_of)
        self._uses.update(filter(None, placement_rows.explanation_of.values()))
        for placement_id in gone:
            self._explanation_of.pop(placement_id, None)
        for explanation, count in freed.items():
            self._uses[explanation] -= count
            if self._uses[explanation] <= 0:
                del self._uses[explanation]

    def _rows_of(self, changes: Sequence[tuple[str, Placement | None]]) -> _PlacementRows:
        """Return the rows of placements, and of explanations that are not stored yet."""
        explanations: list[tuple[str, bytes]] = []
        explanation_of: dict[str, str | None] = {}
        shared: dict[tuple[int, int, int], str | None] = {}
        placements = [placement for _, placement in changes if placement is not None]
        ids = [placement_id for placement_id, placement in changes if placement is not None]
        for placement_id, placement in zip(ids, placements, strict=True):
            if placement_id in self._explanation_of:
                continue
            key = (id(placement.requirements), id(placement.candidates), id(placement.refused))
            if key not in shared:
                body = rows.explanation_of(placement)
                shared[key] = None if body is None else placement_id
                if body is not None:
                    explanations.append((placement_id, body))
            explanation_of[placement_id] = shared[key]
        return _PlacementRows(
            _state.placement_rows(placements, list(map(explanation_of.get, ids)), self.database.owner),
            _state.Rows(explanations),
            explanation_of,
            _state.file_rows([placement for placement in placements if placement.is_judged]),
        )

    def forget_files(self, moment: float) -> int:
        """Remove some of the files that ended before a time; return how many.  Raises DatabaseError."""
        gone = self.files.ended_before(moment, _FORGOTTEN_AT_ONCE)
        if gone:
            with self.database.writing() as connection:
                writer.remove(connection, FILE, gone, self.database.owner)
        return len(gone)

    def _rest(
        self, changes: Sequence[tuple[str, Placement | None]], sizes: Iterable[tuple[SizeKey, Sizes | None]]
    ) -> tuple[list[str], list[str]]:
        """Return the ids and digests that are ours and not among these; learn anew what is explained.

        Sizes in a shared database are everybody's.
        """
        placed = sa.select(PLACEMENT.c.placement_id, PLACEMENT.c.explanation_id)
        with self.database.transaction(reading=True) as connection:
            ours = connection.execute(placed.where(PLACEMENT.c.service == self.database.owner))
            self._explanation_of = {row.placement_id: row.explanation_id for row in ours}
            digests = list(connection.execute(sa.select(SIZE_HISTORY.c.digest)).scalars())
        self._uses = Counter(filter(None, self._explanation_of.values()))
        given, kept = {placement_id for placement_id, _ in changes}, {key.digest for key, _ in sizes}
        return (
            [placement_id for placement_id in self._explanation_of if placement_id not in given],
            [] if self.database.shared else [digest for digest in digests if digest not in kept],
        )
