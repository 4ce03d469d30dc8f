"""Runs the steps on the connection the service hands over (see ses_service.store.database)."""

from alembic import context

from ses_service.store.tables import METADATA, VERSION_TABLE

connection = context.config.attributes["connection"]
context.configure(
    connection=connection, target_metadata=METADATA, version_table=VERSION_TABLE, render_as_batch=True
)
context.run_migrations()
