"""A store whose database this process writes itself."""

from __future__ import annotations

from ses_service.store.database import Database
from ses_service.store.records import RecordStore
from ses_service.store.writer import Writer


def store_of(database: Database) -> RecordStore:
    """The records in `database`."""
    return RecordStore(database, Writer(database))
