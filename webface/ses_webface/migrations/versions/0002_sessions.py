"""Sessions the server knows and can end; failed sign-ins by browser.  Who is signed in is signed out once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table of sessions, which end without a version of the password."""
    op.create_table(
        "browser_session",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key_digest", sa.String(64), nullable=False, unique=True),
        sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
    )
    op.create_index("ix_browser_session_account_id", "browser_session", ["account_id"])
    op.create_index("ix_browser_session_seen_at", "browser_session", ["seen_at"])
    op.drop_column("account", "password_version")
    op.add_column("failed_sign_in", sa.Column("browser", sa.String(32), nullable=True))
    op.create_index("ix_failed_sign_in_name_key_at", "failed_sign_in", ["name_key", "at"])
    op.create_index("ix_failed_sign_in_at", "failed_sign_in", ["at"])


def downgrade() -> None:
    """Go back to sessions that only their cookie knows."""
    op.drop_index("ix_failed_sign_in_at", "failed_sign_in")
    op.drop_index("ix_failed_sign_in_name_key_at", "failed_sign_in")
    op.drop_column("failed_sign_in", "browser")
    op.add_column("account", sa.Column("password_version", sa.Integer, nullable=False, server_default="1"))
    op.drop_table("browser_session")
