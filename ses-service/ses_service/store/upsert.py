"""Inserts or changes many rows by few statements.

One statement for each row would cost more than the row itself.  SQLite gets up to 30 rows in a statement,
bound by position: each is an execution of its own, before and after which Python lets other threads run.
PostgreSQL gets one array of rows of the table: psycopg takes half a millisecond to bind a thousand values one
by one, and the server reads a statement anew that has another number of rows.  Texts of statements are made
once for each table, so that databases know them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

import sqlalchemy as sa
from ses_state import _state
from sqlalchemy import Connection, Dialect

from ses_service.store.database import driver_of

_SIZES = (30, 8, 1)  # SQLite before 3.32 binds 999 values at most, and a placement has 33
_ROWS_IN_ARRAY = 1000


def upsert(connection: Connection, table: sa.Table, rows: _state.Rows, keep: tuple[str, ...] = ()) -> None:
    """Insert rows, or change those that are there, except for the columns to ``keep``.

    Each row has the values of all columns of the table in their order, and another key than the others; the
    key is one column.
    """
    dialect, driver = connection.dialect, driver_of(connection)
    if dialect.name == "postgresql":
        for start in range(0, len(rows), _ROWS_IN_ARRAY):
            array = rows.array(start, start + _ROWS_IN_ARRAY)
            driver.execute(_text_of_array(table, dialect, keep), (array,))
        return
    for start, count in _parts(len(rows)):
        bound = tuple(chain.from_iterable(rows.tuples(start, start + count)))
        driver.execute(_text_of_rows(table, dialect, count, keep), bound)


def _parts(count: int) -> Iterator[tuple[int, int]]:
    start = 0
    for size in _SIZES:
        while count - start >= size:
            yield start, size
            start += size


@cache
def _text_of_rows(table: sa.Table, dialect: Dialect, count: int, keep: tuple[str, ...]) -> str:
    """Return the statement for ``count`` rows."""
    row = f"({', '.join('?' * len(table.c))})"
    return _text(table, dialect, f"values {', '.join([row] * count)}", keep)


@cache
def _text_of_array(table: sa.Table, dialect: Dialect, keep: tuple[str, ...]) -> str:
    """Return the statement for an array of rows."""
    rows = f"cast(%s as {dialect.identifier_preparer.quote(table.name)}[])"
    return _text(table, dialect, f"select * from unnest({rows})", keep)


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
