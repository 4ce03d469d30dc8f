"""Placements, their explanations, the history of sizes, and who wrote last."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "ses_placement",
        sa.Column("placement_id", sa.String(16), primary_key=True),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("application", sa.Text),
        sa.Column("vo", sa.Text),
        sa.Column("node", sa.Text),
        sa.Column("job", sa.Text),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("elements", sa.Text, nullable=False),
        sa.Column("stripe_size", sa.BigInteger),
        sa.Column("ahead", sa.Boolean, nullable=False),
        sa.Column("distance", sa.Double, nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("decided_by", sa.String(16), nullable=False),
        sa.Column("expected_bytes", sa.Double),
        sa.Column("expected_from", sa.String(16)),
        sa.Column("predicted", sa.Text, nullable=False),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("path", sa.Text),
        sa.Column("device", sa.String(20)),
        sa.Column("inode", sa.String(20)),
        sa.Column("pid", sa.BigInteger),
        sa.Column("booked_at", sa.Double, nullable=False),
        sa.Column("lease_until", sa.Double),
        sa.Column("opened_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("end_reason", sa.String(16)),
        sa.Column("bytes_written", sa.Double),
        sa.Column("explanation_id", sa.String(16)),
    )
    op.create_table(
        "ses_explanation",
        sa.Column("explanation_id", sa.String(16), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "ses_size_history",
        sa.Column("digest", sa.String(32), primary_key=True),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("pattern", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("recent", sa.Text, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
    )
    op.create_table(
        "ses_owner",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("owner", sa.String(16), nullable=False),
    )


def downgrade() -> None:
    """Remove the tables."""
    for name in ("ses_placement", "ses_explanation", "ses_size_history", "ses_owner"):
        op.drop_table(name)
