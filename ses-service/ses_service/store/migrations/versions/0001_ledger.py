"""Placements and their explanations, the history of sizes, what became of files, and the services."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _key(length: int | None = None) -> sa.types.TypeEngine[str]:
    """Text that PostgreSQL compares by its bytes: by the rules of a language an index takes far longer."""
    text = sa.Text if length is None else sa.String
    return text(length).with_variant(text(length, collation="C"), "postgresql")


def upgrade() -> None:
    """Make the tables and what is asked of them."""
    op.create_table(
        "ses_placement",
        sa.Column("placement_id", _key(16), primary_key=True),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("application", sa.Text),
        sa.Column("vo", sa.Text),
        sa.Column("node", sa.Text),
        sa.Column("job", sa.Text),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("elements", sa.Text, nullable=False),
        sa.Column("stripe_size", sa.BigInteger),
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
        sa.Column("placed_at", sa.Double, nullable=False),
        sa.Column("lease_until", sa.Double),
        sa.Column("opened_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("end_reason", sa.String(16)),
        sa.Column("bytes_written", sa.Double),
        sa.Column("explanation_id", sa.String(16)),
        sa.Column("idle", sa.Boolean, nullable=False),
        sa.Column("service", sa.String(16), nullable=False),
        sa.Column("held", sa.Text),
        postgresql_with={"fillfactor": 50},
    )
    op.create_table(
        "ses_explanation",
        sa.Column("explanation_id", _key(16), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "ses_size_history",
        sa.Column("digest", _key(32), primary_key=True),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("application", sa.Text, nullable=False),
        sa.Column("pattern", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("recent", sa.Text, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
    )
    op.create_table(
        "ses_file",
        sa.Column("placement_id", _key(16), primary_key=True),
        sa.Column("user", _key(), nullable=False),
        sa.Column("application", _key()),
        sa.Column("vo", _key()),
        sa.Column("job", _key()),
        sa.Column("node", sa.Text),
        sa.Column("element", _key(), nullable=False),
        sa.Column("path", sa.Text),
        sa.Column("opened_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double, nullable=False),
        sa.Column("end_reason", sa.String(16), nullable=False),
        sa.Column("bytes_written", sa.Double),
        sa.Column("bytes_read", sa.Double),
        sa.Column("write_rate", sa.Double),
        sa.Column("read_rate", sa.Double),
        sa.Column("verdict", _key(12)),
        sa.Column("cause", sa.String(20)),
        sa.Column("kind", sa.Text),
        sa.Column("bound", sa.Double),
        sa.Column("predicted", sa.Double),
        sa.Column("achieved", sa.Double),
        sa.Column("detail", sa.LargeBinary),
    )
    for name in ("user", "element"):
        op.create_index(f"ses_file_{name}", "ses_file", [name, "ended_at"])
    for names in (["application"], ["vo"], ["job"], ["verdict"], ["user", "verdict"]):
        known = sa.column(names[-1]).is_not(None)
        op.create_index(
            f"ses_file_{'_'.join(names)}",
            "ses_file",
            [*names, "ended_at"],
            postgresql_where=known,
            sqlite_where=known,
        )
    op.create_index("ses_file_ended", "ses_file", ["ended_at"])
    op.create_table("ses_service", sa.Column("service", sa.String(16), primary_key=True))
