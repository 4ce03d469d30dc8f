"""Who accounts are at the OIDC provider, and whose tokens are still to be revoked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make both tables; accounts that were made by a sign-in get their identity by the next one."""
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
        sa.Column("name", sa.String(64), nullable=False),
    )


def downgrade() -> None:
    """Forget both."""
    op.drop_table("revocation")
    op.drop_table("identity")
