"""Accounts, sign-ins that failed, sessions, links that let somebody in once, and identities at a provider."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables and what is asked of them."""
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(256), nullable=False, unique=True),
        sa.Column("vo", sa.String(256), nullable=True),
        sa.Column("is_admin", sa.Boolean, nullable=False),
        sa.Column("is_manager", sa.Boolean, nullable=False),
        sa.Column("password_hash", sa.String(256), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "failed_sign_in",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name_key", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("browser", sa.String(32), nullable=True),
    )
    op.create_index("ix_failed_sign_in_address_at", "failed_sign_in", ["address", "at"])
    op.create_index("ix_failed_sign_in_name_key_at", "failed_sign_in", ["name_key", "at"])
    op.create_index("ix_failed_sign_in_at", "failed_sign_in", ["at"])
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
    op.create_table(
        "one_time_link",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key_digest", sa.String(64), nullable=False, unique=True),
        sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", ondelete="CASCADE"), index=True),
        sa.Column("ends_at", sa.Double, nullable=False),
    )
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("issuer", sa.String(512), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column(
            "account_id",
            sa.Integer,
            sa.ForeignKey("account.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
        sa.Column("seen_at", sa.Double),
        sa.UniqueConstraint("issuer", "subject"),
    )
    op.create_table(
        "revocation",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(256), nullable=False),
    )
