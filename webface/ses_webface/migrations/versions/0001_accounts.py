"""Accounts and failed sign-ins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("vo", sa.String(128), nullable=True),
        sa.Column("is_admin", sa.Boolean, nullable=False),
        sa.Column("password_hash", sa.String(256), nullable=False),
        sa.Column("password_version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "failed_sign_in",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name_key", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("ix_failed_sign_in_address_at", "failed_sign_in", ["address", "at"])


def downgrade() -> None:
    """Remove both tables."""
    op.drop_table("failed_sign_in")
    op.drop_table("account")
