"""Names as long as the service takes them; SQLite bounds none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_NAMES = {("account", "name"): 64, ("account", "vo"): 128, ("revocation", "name"): 64}


def upgrade() -> None:
    """Widen the columns."""
    _resize(dict.fromkeys(_NAMES, 256))


def downgrade() -> None:
    """Narrow them; fails where a name is longer."""
    _resize(_NAMES)


def _resize(sizes: dict[tuple[str, str], int]) -> None:
    if op.get_bind().dialect.name != "sqlite":
        for (table, column), size in sizes.items():
            op.alter_column(table, column, type_=sa.String(size))
