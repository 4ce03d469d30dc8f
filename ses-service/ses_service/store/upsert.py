"""Inserts or changes many rows by few statements.

One statement for each row would cost more than the row itself.  SQLite gets up to 30 rows in a statement,
bound by position: each is an execution of its own, before and after which Python lets other threads run.
PostgreSQL gets an array for each column: psycopg takes half a millisecond to bind a thousand values one by
one, and the server reads a statement anew that has another number of rows.  Texts of statements are made once
for each table, so that databases know them.

Values must be of types SQLite's driver takes as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import sqlalchemy as sa
from ses_state import _state
from sqlalchemy import Connection, Dialect

Values: TypeAlias = tuple[Any, ...]

_SIZES = (30, 8, 1)  # SQLite before 3.32 binds 999 values at most, and a placement has 33
_ROWS_IN_ARRAYS = 1000


def upsert(
    connection: Connection,
    table: sa.Table,
    rows: Sequence[Values],
    keep: tuple[str, ...] = (),
) -> None:
    """Insert rows, or change those that are there, except for the columns to ``keep``.

    Each row has the values of all columns of the table in their order, and another key than the others; the
    key is one column.
    """
    dialect = connection.dialect
    if dialect.name == "postgresql":
        for start in range(0, len(rows), _ROWS_IN_ARRAYS):
            arrays = _state.arrays(rows[start : start + _ROWS_IN_ARRAYS])
            connection.exec_driver_sql(_text_of_arrays(table, dialect, keep), arrays)
        return
    for part in _parts(rows):
        bound = tuple(chain.from_iterable(part))
        connection.exec_driver_sql(_text_of_rows(table, dialect, len(part), keep), bound)


def _parts(rows: Sequence[Values]) -> Iterator[Sequence[Values]]:
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@cache
def _text_of_rows(table: sa.Table, dialect: Dialect, count: int, keep: tuple[str, ...]) -> str:
    """Return the statement for ``count`` rows."""
    row = f"({', '.join('?' * len(table.c))})"
    return _text(table, dialect, f"values {', '.join([row] * count)}", keep)


@cache
def _text_of_arrays(table: sa.Table, dialect: Dialect, keep: tuple[str, ...]) -> str:
    """Return the statement for an array of each column.

    A text is cast to no length: a cast would cut it off silently.
    """
    types = (
        "text" if isinstance(column.type, sa.String) else column.type.compile(dialect) for column in table.c
    )
    arrays = ", ".join(f"cast(%s as {type_}[])" for type_ in types)
    return _text(table, dialect, f"select * from unnest({arrays})", keep)


def _text(table: sa.Table, dialect: Dialect, source: str, keep: tuple[str, ...]) -> str:
    """Return the statement that takes its rows from ``source``; names are the table's own."""
    (key,) = table.primary_key.columns.keys()
    quoted = dialect.identifier_preparer.quote
    names = table.c.keys()
    changed = [quoted(name) for name in names if name != key and name not in keep]
    change = (
        f"update set {', '.join(f'{name} = excluded.{name}' for name in changed)}" if changed else "nothing"
    )
    return (
        f"insert into {quoted(table.name)} ({', '.join(map(quoted, names))}) "
        f"{source} on conflict ({quoted(key)}) do {change}"
    )
