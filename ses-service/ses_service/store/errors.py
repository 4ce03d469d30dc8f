"""What can be wrong with the database."""

import os
from pathlib import Path


class DatabaseError(Exception):
    """The database does not answer, or cannot do what is asked of it now."""


class DatabaseInUseError(DatabaseError):
    """Another service writes this database."""


class DatabaseDamagedError(DatabaseError):
    """The file of the database does not hold what was written into it."""


class DatabaseUrlError(Exception):
    """The database can never be used as it is named or as it is; the message says what to do."""


def reason_of(error: Exception) -> str:
    """Return what the driver says was wrong, in one line."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def whose(file: Path) -> str:
    """Return what to say of a file, or of its folder when there is none, that may not be opened."""
    for path in (file, file.parent):
        try:
            status = path.stat()
        except OSError:
            continue
        return (
            f": {path} belongs to user {status.st_uid}, mode {status.st_mode & 0o7777:04o}, and the service "
            f"runs as user {os.geteuid()}"
        )
    return ""
