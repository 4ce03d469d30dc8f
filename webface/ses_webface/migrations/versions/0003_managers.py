"""Managers of a VO."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add what tells a manager; nobody is one yet."""
    op.add_column("account", sa.Column("is_manager", sa.Boolean, nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Forget who is a manager."""
    op.drop_column("account", "is_manager")
