"""A store whose database this process writes itself, and what a database holds, whoever writes it."""

import sqlalchemy as sa
from ses_service.ledger.placement import Placement
from ses_service.store.database import Database
from ses_service.store.records import RecordStore
from ses_service.store.rows import Explanation, placement_of
from ses_service.store.tables import PLACEMENT


def store_of(database: Database) -> RecordStore:
    """The records in `database`."""
    return RecordStore(database)


def stored_in(database: Database) -> list[Placement]:
    """All placements in `database`."""
    with database.transaction(reading=True) as connection:
        rows = connection.execute(sa.select(PLACEMENT)).mappings().all()
    return [placement_of(dict(row), Explanation()) for row in rows]
