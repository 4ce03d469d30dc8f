"""Nothing is booked any more: a placement is a file that was created."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Drop what was booked and never used, and what told it apart."""
    op.execute("delete from ses_placement where state = 'booked'")
    op.drop_column("ses_placement", "ahead")
