"""Brings the tables of a database up to date.  Imported by the writer alone: Alembic takes its time."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from ses_service.store.database import Database
from ses_service.store.errors import DatabaseUrlError
from ses_service.store.tables import VERSION_TABLE

_MIGRATIONS = "ses_service.store:migrations"
_UPGRADE_LOCK = 0x5345534C  # one number for all services on one PostgreSQL database


def upgrade(database: Database) -> tuple[str | None, str | None]:
    """Run missing migrations; return the revision before and after.

    Raises DatabaseError, and DatabaseUrlError when a later service has used this database.
    """
    with database.transaction() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
        before = _revision(connection)
        _check_known(before, database.name)
        command.upgrade(_config(connection), "head")
        return before, _revision(connection)


def _check_known(revision: str | None, name: str) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config(None)).walk_revisions()}
    if revision is not None and revision not in known:
        raise DatabaseUrlError(
            f"{name} is at revision {revision}, which this service does not know: it was used by a "
            "later service. Start that one, or name another database."
        )


def _revision(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
