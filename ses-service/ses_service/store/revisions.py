"""Brings the tables of a database up to date.

Alembic is imported where they are not: it takes its time, and 10 MB.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from ses_service.store.database import Database
from ses_service.store.errors import DatabaseUrlError
from ses_service.store.tables import VERSION_TABLE

_MIGRATIONS = "ses_service.store:migrations"
_STEPS = Path(__file__).parent / "migrations" / "versions"
_REVISION = text(f"select version_num from {VERSION_TABLE}")
_ENCODING = text("show server_encoding")
_OF_ALL_NAMES = ("UTF8", "SQL_ASCII")  # the latter keeps bytes as they come
_UPGRADE_LOCK = 0x5345534C  # one number for all services on one PostgreSQL database


def upgrade(database: Database) -> tuple[str | None, str | None]:
    """Run missing migrations; return the revision before and after.

    Raises DatabaseError, and DatabaseUrlError when a later service has used this database, or it cannot keep
    every name.
    """
    with database.transaction() as connection:
        if connection.dialect.name == "postgresql":
            encoding = connection.execute(_ENCODING).scalar()
            if encoding not in _OF_ALL_NAMES:
                raise DatabaseUrlError(
                    f"{database.name} keeps text as {encoding}, which lacks characters that names of files "
                    "have: make another database by: createdb --template=template0 --encoding=UTF8 NAME"
                )
            connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
        before = _revision(connection)
        known = sorted(step.name.partition("_")[0] for step in _STEPS.glob("[0-9]*.py"))
        if before is not None and before not in known:
            raise DatabaseUrlError(
                f"{database.name} is at revision {before}, which this service does not know: it was used by "
                "a later service. Start that one, or name another database."
            )
        if before != known[-1]:
            _migrate(connection)
        return before, known[-1]


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision: str | None = connection.execute(_REVISION).scalar()
    return revision


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
