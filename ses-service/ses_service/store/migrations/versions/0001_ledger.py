"""Placements and their explanations, the history of sizes, what became of files, and the services."""

from alembic import op

from ses_service.store.tables import creation

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables as they are: there is no step after this one."""
    for statement in creation():
        op.execute(statement)
