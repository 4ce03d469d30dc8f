"""Inserts or changes many rows by few statements.

One statement for each row would cost more than the row itself: each is an execution of its own, before
and after which Python lets other threads run.  Here one statement has up to 32 rows, bound by position.
Texts are made once for each table and number of rows, of which there are few, so that databases know them.
Values must be of types the driver takes as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import Connection, Dialect

Values: TypeAlias = tuple[Any, ...]

_SIZES = (31, 8, 1)  # SQLite before 3.32 binds 999 values at most, and a placement has 32


def upsert(
    connection: Connection,
    table: sa.Table,
    rows: Sequence[Values],
    keep: tuple[str, ...] = (),
    between: Callable[[], None] = lambda: None,
) -> None:
    """Insert rows, or change those that are there, except for the columns to ``keep``.

    Each row has the values of all columns of the table in their order, and another key than the others; the
    key is one column.  ``between`` is called before each statement.
    """
    for part in _parts(rows):
        between()
        bound = tuple(chain.from_iterable(part))
        connection.exec_driver_sql(_text(table, connection.dialect, len(part), keep), bound)


def _parts(rows: Sequence[Values]) -> Iterator[Sequence[Values]]:
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@cache
def _text(table: sa.Table, dialect: Dialect, count: int, keep: tuple[str, ...]) -> str:
    """Return the statement for so many rows; names are the table's own."""
    (key,) = table.primary_key.columns.keys()
    quoted = dialect.identifier_preparer.quote
    names = table.c.keys()
    row = f"({', '.join(['?' if dialect.positional else '%s'] * len(names))})"
    changed = [quoted(name) for name in names if name != key and name not in keep]
    change = (
        f"update set {', '.join(f'{name} = excluded.{name}' for name in changed)}" if changed else "nothing"
    )
    return (
        f"insert into {quoted(table.name)} ({', '.join(map(quoted, names))}) "
        f"values {', '.join([row] * count)} on conflict ({quoted(key)}) do {change}"
    )
