"""Writes the ledger's records and the history of sizes, and reads them at a start.

Belongs to one thread at a time.  Everything it writes can be written again: after an error nobody knows
whether the last transaction was committed, so what it held is simply said again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from ses_service.placement import Placement
from ses_service.sizes import SizeKey, Sizes
from ses_service.store import rows
from ses_service.store.database import Database
from ses_service.store.rows import Explanation, Row
from ses_service.store.tables import EXPLANATION, PLACEMENT, SIZE_HISTORY

_AT_ONCE = 500

_NO_ROWS: tuple[()] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a database held: what ended first comes first, what has not ended last.

    ``unreadable`` counts rows that cannot be understood and were left alone.
    """

    placements: tuple[Placement, ...]
    sizes: tuple[tuple[SizeKey, Sizes], ...]
    unreadable: int


class RecordStore:
    """The tables of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._explanation_of: dict[str, str | None] = {}
        self._uses: Counter[str] = Counter()

    def open(self) -> bool:
        """Bring the tables up to date; return whether they were there in this form already.

        Raises DatabaseError and DatabaseUrlError.
        """
        before, after = self.database.upgrade()
        return before == after

    def load(self) -> Loaded:
        """Read everything but explanations.  Raises DatabaseError."""
        placements: list[Placement] = []
        sizes: list[tuple[SizeKey, Sizes]] = []
        unreadable = 0
        order = (PLACEMENT.c.ended_at.is_(None), PLACEMENT.c.ended_at, PLACEMENT.c.placement_id)
        with self.database.transaction() as connection:
            self._explanation_of.clear()
            for row in connection.execute(sa.select(PLACEMENT).order_by(*order)).mappings():
                try:
                    placements.append(rows.placement_of(dict(row), Explanation()))
                except (ValueError, KeyError, TypeError, IndexError):
                    unreadable += 1
                else:
                    self._explanation_of[row["placement_id"]] = row["explanation_id"]
            self._uses = Counter(filter(None, self._explanation_of.values()))
            for row in connection.execute(sa.select(SIZE_HISTORY).order_by("last_at", "digest")).mappings():
                try:
                    sizes.append(rows.size_of(dict(row)))
                except (ValueError, KeyError, TypeError):
                    unreadable += 1
            used = sa.select(PLACEMENT.c.explanation_id).where(PLACEMENT.c.explanation_id.is_not(None))
            connection.execute(sa.delete(EXPLANATION).where(EXPLANATION.c.explanation_id.not_in(used)))
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
    ) -> None:
        """Store how placements and sizes stand now (``None``: they are gone), in one transaction.

        ``whole``: these are all there are.  Raises DatabaseError.
        """
        known = {} if whole else self._explanation_of
        explained: dict[str, str | None] = {}
        bodies: list[Row] = []
        shared: dict[tuple[int, int, int], str | None] = {}
        placed: list[Row] = []
        for placement_id, placement in changes:
            if placement is None:
                continue
            if placement_id not in known:
                parts = (placement.requirements, placement.candidates, placement.refused)
                key = (id(parts[0]), id(parts[1]), id(parts[2]))
                if key not in shared:
                    body = rows.explanation_of(placement)
                    shared[key] = None if body is None else placement_id
                    if body is not None:
                        bodies.append({"explanation_id": placement_id, "body": body})
                explained[placement_id] = shared[key]
            placed.append(rows.row_of(placement, explained.get(placement_id)))
        gone = [placement_id for placement_id, placement in changes if placement is None]
        freed = Counter(filter(None, (known.get(placement_id) for placement_id in gone)))
        unused = [one for one, count in freed.items() if self._uses[one] <= count]
        with self.database.transaction() as connection:
            if whole:
                for table in (PLACEMENT, EXPLANATION, SIZE_HISTORY):
                    connection.execute(sa.delete(table))
            _put(connection, EXPLANATION, bodies, keep=("body",))
            _put(connection, PLACEMENT, placed, keep=("explanation_id",))
            _put(connection, SIZE_HISTORY, [rows.size_row(key, one) for key, one in sizes if one is not None])
            _remove(connection, PLACEMENT, gone)
            _remove(connection, EXPLANATION, unused)
            _remove(connection, SIZE_HISTORY, [key.digest for key, one in sizes if one is None])
        if whole:
            self._explanation_of, self._uses = {}, Counter()
        self._explanation_of.update(explained)
        self._uses.update(filter(None, explained.values()))
        for placement_id in gone:
            self._explanation_of.pop(placement_id, None)
        self._uses -= freed


def _put(connection: Connection, table: sa.Table, given: Iterable[Row], keep: tuple[str, ...] = ()) -> None:
    """Insert rows, or change those that are there, except for the columns to ``keep``."""
    (key,) = table.primary_key.columns
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    insert = dialect.insert(table)
    changed = {
        one.name: insert.excluded[one.name] for one in table.c if one is not key and one.name not in keep
    }
    if changed:
        insert = insert.on_conflict_do_update(index_elements=[key], set_=changed)
    else:
        insert = insert.on_conflict_do_nothing(index_elements=[key])
    rest = iter(given)
    while part := list(islice(rest, _AT_ONCE)):
        connection.execute(insert, part)


def _remove(connection: Connection, table: sa.Table, keys: Sequence[str]) -> None:
    (key,) = table.primary_key.columns
    for start in range(0, len(keys), _AT_ONCE):
        connection.execute(sa.delete(table).where(key.in_(keys[start : start + _AT_ONCE])))
