"""Links that let somebody in once, to choose a password."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table of links; there is none yet."""
    op.create_table(
        "one_time_link",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key_digest", sa.String(64), nullable=False, unique=True),
        sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", ondelete="CASCADE"), index=True),
        sa.Column("ends_at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    """Withdraw all links."""
    op.drop_table("one_time_link")
