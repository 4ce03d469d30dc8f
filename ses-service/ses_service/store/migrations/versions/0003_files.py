"""What became of each file that ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables and what is asked of them."""
    op.create_table(
        "ses_file",
        sa.Column("placement_id", sa.String(16), primary_key=True),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("application", sa.Text),
        sa.Column("vo", sa.Text),
        sa.Column("job", sa.Text),
        sa.Column("node", sa.Text),
        sa.Column("element", sa.Text, nullable=False),
        sa.Column("path", sa.Text),
        sa.Column("opened_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double, nullable=False),
        sa.Column("end_reason", sa.String(16), nullable=False),
        sa.Column("bytes_written", sa.Double),
        sa.Column("bytes_read", sa.Double),
        sa.Column("write_rate", sa.Double),
        sa.Column("read_rate", sa.Double),
        sa.Column("verdict", sa.String(12)),
        sa.Column("cause", sa.String(20)),
        sa.Column("kind", sa.Text),
        sa.Column("bound", sa.Double),
        sa.Column("predicted", sa.Double),
        sa.Column("achieved", sa.Double),
    )
    for name in ("user", "application", "vo", "job", "element", "verdict"):
        op.create_index(f"ses_file_{name}", "ses_file", [name, "ended_at", "placement_id"])
    op.create_index("ses_file_user_verdict", "ses_file", ["user", "verdict", "ended_at", "placement_id"])
    op.create_index("ses_file_ended", "ses_file", ["ended_at", "placement_id"])
    op.create_table(
        "ses_file_detail",
        sa.Column("placement_id", sa.String(16), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
