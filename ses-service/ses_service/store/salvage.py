"""Reads what can be read of a damaged SQLite ledger, and puts it into the ledger of now.

Works on a copy.  Where the first page is damaged, which says where the tables begin, that of a fresh ledger
takes its place: all ledgers are made by the same steps.  Rows are asked for in ranges; a range that cannot be
read is halved until only the unreadable is left.  What was lost is known from the indexes, which name every
row, as far as these can be read.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import sqlalchemy as sa

from ses_service.store import rows
from ses_service.store.database import Database, sqlite_url
from ses_service.store.files import check_file
from ses_service.store.revisions import upgrade
from ses_service.store.tables import EXPLANATION, FILE, PLACEMENT, SIZE_HISTORY

_TABLES = (PLACEMENT, EXPLANATION, SIZE_HISTORY, FILE)
_MAX_FAILURES = 500_000  # ranges that cannot be read, of one table: some seconds
_ROWS_AT_ONCE = 500
_PAGE_COUNT, _FREE_PAGES = slice(28, 32), slice(32, 40)  # in the first page, see sqlite.org/fileformat2.html

Values: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Salvaged:
    """What was read of one table, by key; ``lost`` are keys that an index names and no readable row has.

    ``all_named`` is whether that index could be read to its end.
    """

    rows: dict[str, Values] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    all_named: bool = True


def salvage(file: Path) -> dict[str, Salvaged]:
    """Return what can be read of a ledger's file, by the table's name.  Raises OSError."""
    checks: tuple[tuple[sa.Table, Callable[[Values], object]], ...] = (
        (PLACEMENT, lambda row: rows.placement_of(row, rows.Explanation())),
        (EXPLANATION, _check_explanation),
        (SIZE_HISTORY, rows.size_of),
        (FILE, check_file),
    )
    with TemporaryDirectory(prefix=f"{file.name}-", dir=file.parent) as folder:
        copy = Path(folder, "copy")
        shutil.copyfile(file, copy)
        log = file.with_name(f"{file.name}-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name("copy-wal"))
        if not _names_the_tables(copy):
            _lend_first_page(copy)
        with closing(_connect(copy)) as connection:
            return {table.name: _read(connection, table, check) for table, check in checks}


def put_back(database: Database, salvaged: Mapping[str, Salvaged]) -> dict[str, int]:
    """Insert what the database has not; return how many rows of each table.  For the writer alone.

    Raises DatabaseError.
    """
    added = {}
    with database.writing() as connection:
        for table in _TABLES:
            (key,) = table.primary_key.columns
            there = set(connection.execute(sa.select(key)).scalars())
            missing = [row for name, row in salvaged[table.name].rows.items() if name not in there]
            for start in range(0, len(missing), _ROWS_AT_ONCE):
                connection.execute(sa.insert(table), missing[start : start + _ROWS_AT_ONCE])
            added[table.name] = len(missing)
        known = salvaged[EXPLANATION.name].rows
        explained = [row for row in salvaged[PLACEMENT.name].rows.values() if row["explanation_id"] in known]
        change = (
            sa.update(PLACEMENT)
            .where(PLACEMENT.c.placement_id == sa.bindparam("of"), PLACEMENT.c.explanation_id.is_(None))
            .values(explanation_id=sa.bindparam("by"))
        )
        if explained:
            connection.execute(
                change, [{"of": row["placement_id"], "by": row["explanation_id"]} for row in explained]
            )
    return added


def _check_explanation(row: Values) -> None:
    if rows.read_explanation(row["body"]) == rows.Explanation():
        raise ValueError("not an explanation")


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _names_the_tables(copy: Path) -> bool:
    with closing(_connect(copy)) as connection:
        try:
            named = {name for (name,) in connection.execute("select name from sqlite_master")}
        except sqlite3.Error:
            return False
        return {PLACEMENT.name, EXPLANATION.name, SIZE_HISTORY.name} <= named


def _lend_first_page(copy: Path) -> None:
    fresh = copy.with_name("fresh")
    database = Database(sqlite_url(fresh))
    upgrade(database)
    database.close()
    with closing(_connect(fresh)) as connection:
        (size,) = connection.execute("pragma page_size").fetchone()
    page = bytearray(fresh.read_bytes()[:size])
    page[_PAGE_COUNT] = (copy.stat().st_size // size).to_bytes(4, "big")
    page[_FREE_PAGES] = bytes(8)
    with copy.open("r+b") as file:
        file.write(page)


def _read(connection: sqlite3.Connection, table: sa.Table, check: Callable[[Values], object]) -> Salvaged:
    (key,) = table.primary_key.columns.keys()
    names = table.c.keys()
    salvaged = Salvaged()
    numbers: list[int] = []
    for direction in ("asc", "desc"):
        named = _until_damage(connection, f"select rowid, {key} from {table.name} order by {key} {direction}")
        numbers += [number for number, _ in named.rows]
        salvaged.lost.update(name for _, name in named.rows)
        salvaged.all_named = named.complete
        if named.complete:
            break
    for direction in ("asc", "desc"):
        order = f"select rowid from {table.name} not indexed order by rowid {direction}"
        numbers += [number for (number,) in _until_damage(connection, order).rows]
    columns = ", ".join(f'"{name}"' for name in names)
    text = f"select rowid, {columns} from {table.name} where rowid between ? and ? order by rowid limit ?"
    for _, *values in _ranges(connection, text, numbers):
        row = dict(zip(names, values, strict=True))
        try:
            check(row)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            salvaged.lost.add(str(row[key]))
        else:
            salvaged.rows[row[key]] = row
    salvaged.lost -= salvaged.rows.keys()
    return salvaged


@dataclass(slots=True)
class _Streamed:
    rows: list[tuple[Any, ...]]
    complete: bool


def _until_damage(connection: sqlite3.Connection, text: str) -> _Streamed:
    read_rows: list[tuple[Any, ...]] = []
    try:
        read_rows.extend(connection.execute(text))
    except sqlite3.Error:
        return _Streamed(read_rows, complete=False)
    return _Streamed(read_rows, complete=True)


def _ranges(connection: sqlite3.Connection, text: str, numbers: list[int]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that can be read around these numbers of rows.

    A row is given only when SQLite has found the one after it, or knows that there is none.  The last row
    before a page that cannot be read is given by a range of one, which ends with its limit.
    """
    if not numbers:
        return
    low, high = min(numbers), max(numbers)
    around = high - low + 1  # beyond the ends may be rows whose pages no reading met
    todo = [(low - around, high + around)]
    failures = 0
    while todo and failures < _MAX_FAILURES:
        first, last = todo.pop()
        try:
            for row in connection.execute(text, (first, last, last - first + 1)):
                yield row
                first = row[0] + 1
        except sqlite3.Error:
            failures += 1
            if first < last:
                middle = (first + last) // 2
                todo += [(middle + 1, last), (first, middle)]
