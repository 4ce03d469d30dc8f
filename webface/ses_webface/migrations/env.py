"""Runs the steps on the connection the portal hands over (see ses_webface.database)."""

from alembic import context

from ses_webface.accounts import models  # noqa: F401  (registers the tables)
from ses_webface.database import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
context.run_migrations()
