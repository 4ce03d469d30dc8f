"""What is done with rows of the database, each in a transaction that the caller began.

Belongs to the thread that has the right to write.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from ses_state import _state
from sqlalchemy.dialects.postgresql import ARRAY

from ses_service.store.database import Database, driver_of
from ses_service.store.revisions import upgrade
from ses_service.store.tables import CHANNEL, EXPLANATION, PLACEMENT, SERVICE
from ses_service.store.upsert import upsert

_KEYS_AT_ONCE = 500
_KEPT = {EXPLANATION.name: ("body",), PLACEMENT.name: ("explanation_id",)}  # once they are stored


def open_tables(database: Database) -> bool:
    """Take the right to write and bring the tables up to date; return whether they are as we left them.

    They are not when they were missing, or when another service took ours over.  Raises DatabaseError,
    DatabaseInUseError and DatabaseUrlError.
    """
    database.own()
    before, after = upgrade(database)
    with database.writing() as connection:
        named = sa.select(SERVICE.c.service).where(SERVICE.c.service == database.owner)
        ours = connection.execute(named).scalar() is not None
        if not ours:
            connection.execute(sa.insert(SERVICE).values(service=database.owner))
            used = sa.select(PLACEMENT.c.explanation_id).where(PLACEMENT.c.explanation_id.is_not(None))
            connection.execute(sa.delete(EXPLANATION).where(EXPLANATION.c.explanation_id.not_in(used)))
    return ours and before == after


def save(connection: sa.Connection, table: sa.Table, rows: _state.Rows) -> None:
    """Insert rows of a table, or change those that are there."""
    upsert(connection, table, rows, _KEPT.get(table.name, ()))


def remove(connection: sa.Connection, table: sa.Table, keys: Sequence[str], owner: str) -> None:
    """Remove rows of a table, of placements only the ``owner``'s: others may have taken them over."""
    if not keys:
        return
    (key,) = table.primary_key.columns
    removed = sa.delete(table)
    if table is PLACEMENT:
        removed = removed.where(PLACEMENT.c.service == owner)
    if connection.dialect.name == "postgresql":
        named = key == sa.any_(sa.bindparam("named", list(keys), ARRAY(sa.Text)))
        connection.execute(removed.where(named))
    else:
        connection.execute(removed.where(key == sa.bindparam("named")), [{"named": name} for name in keys])


def notify(connection: sa.Connection, texts: Sequence[str]) -> None:
    """Notify the other services that share the database."""
    for text in texts:  # psycopg takes long over an array of texts with quotes
        driver_of(connection).execute("select pg_notify(%s, %s)", (CHANNEL, text))


def adopt(connection: sa.Connection, services: Sequence[str], owner: str) -> None:
    """Take over for the ``owner`` what services left that are gone."""
    connection.execute(sa.delete(SERVICE).where(SERVICE.c.service.in_(services)))
    theirs = sa.update(PLACEMENT).where(PLACEMENT.c.service.in_(services))
    connection.execute(theirs.values(service=owner))


def adopt_open(connection: sa.Connection, ids: Sequence[str], owner: str) -> None:
    """Take over placements for the ``owner`` where they are open."""
    for start in range(0, len(ids), _KEYS_AT_ONCE):
        named = PLACEMENT.c.placement_id.in_(ids[start : start + _KEYS_AT_ONCE])
        left_open = sa.update(PLACEMENT).where(named, PLACEMENT.c.ended_at.is_(None))
        connection.execute(left_open.values(service=owner))
