"""The database behind the ledger: what a restart must find again.

SQLite by default, PostgreSQL by URL.  Nothing here is asked while a decision is made:
:mod:`ses_service.journal` writes behind, and what cannot be written stays in memory.
"""

from ses_service.store.database import Database
from ses_service.store.errors import DatabaseError, DatabaseInUseError, DatabaseUrlError
from ses_service.store.records import Loaded, RecordStore
from ses_service.store.writer_process import WriterProcess

__all__ = [
    "Database",
    "DatabaseError",
    "DatabaseInUseError",
    "DatabaseUrlError",
    "Loaded",
    "RecordStore",
    "WriterProcess",
]
