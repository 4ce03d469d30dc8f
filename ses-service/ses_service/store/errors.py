"""What can be wrong with the database."""

from __future__ import annotations


class DatabaseError(Exception):
    """The database does not answer, or cannot do what is asked of it now."""


class DatabaseInUseError(DatabaseError):
    """Another service writes this database."""


class DatabaseUrlError(Exception):
    """The database can never be used as it is named or as it is; the message says what to do."""


def reason_of(error: Exception) -> str:
    """Return what the driver says was wrong, in one line."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
