"""The tables.  Times are seconds since the epoch, sizes bytes; NULL is unknown.

Their names begin with ``ses_``, and so does that of the table with the revision: the portal may keep its own
in the same database.

``placement``: one row for each record the ledger keeps.  ``elements`` is a JSON list of [id, storage system,
target], in the order of stripes; ``predicted`` and ``notes`` are JSON as well.  ``lease_until`` NULL: as long
as its node reports.  ``device`` is text, since it may need all 64 bits.  ``service`` is the start of the
service that carries it.  ``held`` is a JSON list of what a place has; NULL: it is a file.

``explanation``: requirements, first ranks and refused elements of one decision, JSON compressed with
zlib; placements of one decision share it.

``file``: one row for each file that ended, kept for longer than its placement; rates are bytes per second,
``verdict`` NULL: nothing was required.  ``kind``, ``bound``, ``predicted`` and ``achieved`` are those of the
kind that decided.  ``detail``: all kinds, samples and loads, JSON compressed with zlib.

``size_history``: what :mod:`ses_service.ledger.size_history` knows of one key; ``recent`` is a JSON list.

``service``: one row for each start of a service whose placements nobody else took over.
"""

from collections.abc import Iterator

import sqlalchemy as sa

METADATA = sa.MetaData()

VERSION_TABLE = "ses_alembic_version"
CHANNEL = "ses_ledger"  # of PostgreSQL's notifications


def _key(length: int | None = None) -> sa.types.TypeEngine[str]:
    """Text that PostgreSQL compares by its bytes: by the rules of a language an index takes far longer."""
    text = sa.Text if length is None else sa.String
    return text(length).with_variant(text(length, collation="C"), "postgresql")


PLACEMENT = sa.Table(
    "ses_placement",
    METADATA,
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
    # A row is written as a file opens and again as it ends: with room left beside it, no index changes then.
    postgresql_with={"fillfactor": 50},
)

EXPLANATION = sa.Table(
    "ses_explanation",
    METADATA,
    sa.Column("explanation_id", _key(16), primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

SIZE_HISTORY = sa.Table(
    "ses_size_history",
    METADATA,
    sa.Column("digest", _key(32), primary_key=True),
    sa.Column("user", sa.Text, nullable=False),
    sa.Column("application", sa.Text, nullable=False),
    sa.Column("pattern", sa.Text, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("recent", sa.Text, nullable=False),
    sa.Column("last_at", sa.Double, nullable=False),
)

FILE = sa.Table(
    "ses_file",
    METADATA,
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


SERVICE = sa.Table("ses_service", METADATA, sa.Column("service", sa.String(16), primary_key=True))


def _index_files(*names: str) -> sa.Index:
    """Index files by columns and their end; nobody asks for those of which the last column is unknown."""
    last = FILE.c[names[-1]]
    known = last.is_not(None) if last.nullable else None
    columns = (*(FILE.c[name] for name in names), FILE.c.ended_at)
    return sa.Index(f"ses_file_{'_'.join(names)}", *columns, postgresql_where=known, sqlite_where=known)


_INDEXES = (
    *map(_index_files, ("user", "element", "application", "vo", "job", "verdict")),
    _index_files("user", "verdict"),
    sa.Index("ses_file_ended", FILE.c.ended_at),
)


def creation() -> Iterator[sa.schema.ExecutableDDLElement]:
    """Yield what makes the tables: always in one order, by which a SQLite file has the same pages."""
    yield from map(sa.schema.CreateTable, (PLACEMENT, EXPLANATION, SIZE_HISTORY, FILE))
    yield from map(sa.schema.CreateIndex, _INDEXES)
    yield sa.schema.CreateTable(SERVICE)
