"""Several services write one database: which of them carries each placement."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Leave what is stored to a service without a name, which is gone."""
    op.add_column("ses_placement", sa.Column("idle", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("ses_placement", sa.Column("service", sa.String(16), nullable=False, server_default=""))
    op.create_table("ses_service", sa.Column("service", sa.String(16), primary_key=True))
    op.execute("insert into ses_service (service) values ('')")
    op.drop_table("ses_owner")
