"""How long `ses report` and `ses files` wait for the database of a service that keeps 1,000,000 files.

The files are of 90 days, 200 users, 40 applications, 2,000 jobs and 64 elements; a fifth of them missed what
was required.  Asked is what the service asks: the sums of a report, and a page of a list.  Wall times of one
connection, the best and the median, and the least processor time of this process, in which SQLite runs; the
tables are those of the service.  PostgreSQL is Debian's, in a folder of its own.  No number makes this fail.

    .venv/bin/python benchmarks/files_report.py [--files 1000000] [--rounds 5] [--only sqlite|postgresql]
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from ses_benchmarks import stand_ins  # noqa: F401  # first: it finds the modules of the tests

# isort: split
from postgresql_server import PostgresServer
from ses_benchmarks.arguments import arguments, program
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.files import Wanted
from ses_service.store.database import Database
from ses_service.store.files import FileHistory
from ses_service.store.tables import METADATA

NOW = 1_800_000_000.0
DAYS = 90
DAY = 86_400
LISTED = 100
DETAIL = 300  # bytes

FILL = """
insert into ses_file
  (placement_id, "user", application, vo, job, node, element, path, opened_at, ended_at, end_reason,
   bytes_written, bytes_read, write_rate, read_rate, verdict, cause, kind, bound, predicted, achieved,
   detail)
with recursive n(i) as (select cast(0 as bigint) union all select i + 1 from n where i + 1 < :files)
select cast(1000000000000000 + i as text), 'user' || (i * 7919 % 200), 'application' || (i * 31 % 40),
  'vo' || (i * 7919 % 8), cast(i * 2000 / :files as text), 'node' || (i % 500), 'lustre/ost' || (i * 37 % 64),
  '/lustre/user' || (i * 7919 % 200) || '/run' || (i / 1000) || '/output.' || i,
  :now - :seconds + i * :seconds / :files - 60.0, :now - :seconds + i * :seconds / :files, 'closed',
  1e9, 0.0, 1e8, 0.0,
  case when i % 5 = 0 then 'missed' when i % 7 = 0 then 'nearly' when i % 11 = 0 then 'cannot-say'
    else 'met' end,
  case when i % 5 = 0 then 'others' end, 'current-write-rate', 1e8, 1.1e8,
  case when i % 5 = 0 then 4e7 when i % 7 = 0 then 9e7 else 1.2e8 end,
  :detail
from n
"""

ASKED = {
    "all of 90 days": Wanted(),
    "all of a day": Wanted(since=NOW - DAY),
    "a user": Wanted(user="user7"),
    "an application": Wanted(application="application3"),
    "a VO": Wanted(vo="vo3"),
    "a job": Wanted(job="1000"),
    "a user on one element": Wanted(user="user7", element="lustre/ost5"),
}
LISTS = {
    "misses": Wanted(verdict=Verdict.MISSED),
    "a user's misses": Wanted(user="user7", verdict=Verdict.MISSED),
    "part of a path": Wanted(path="output.123456"),
}


@contextmanager
def databases(only: str | None, scratch: Path) -> Iterator[Iterator[tuple[str, str]]]:
    """Name and URL of each, empty."""
    server = None if only == "sqlite" else PostgresServer()

    def each() -> Iterator[tuple[str, str]]:
        if only != "postgresql":
            yield "SQLite", f"sqlite:///{scratch}/files.db"
        if server is not None:
            server.start()
            yield "PostgreSQL", server.url

    try:
        yield each()
    finally:
        if server is not None:
            server.remove()


def fill(url: str, files: int) -> None:
    """Make the tables, with ``files`` files."""
    engine = sa.create_engine(url)
    METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            sa.text(FILL), {"files": files, "now": NOW, "seconds": float(DAYS * DAY), "detail": bytes(DETAIL)}
        )
    with engine.begin() as connection:
        connection.execute(sa.text("analyze"))
    engine.dispose()


def show(name: str, what: str, ask: Callable[[], object], rounds: int) -> None:
    """Ask so often, and print the best and the median time."""
    times, processor = [], []
    for _ in range(rounds):
        begun = time.perf_counter(), time.process_time()
        ask()
        times.append(time.perf_counter() - begun[0])
        processor.append(time.process_time() - begun[1])
    print(
        f"{name:11} {what:32} best {min(times):6.3f} s, median {statistics.median(times):6.3f} s, "
        f"processor {min(processor):6.3f} s (load {os.getloadavg()[0]:.0f})",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, files=1_000_000, rounds=5)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, databases(given.only, Path(scratch)) as stores:
        for name, url in stores:
            fill(url, given.files)
            database = Database(url)
            history = FileHistory(database)
            for what, wanted in ASKED.items():
                show(name, f"report: {what}", partial(history.groups, wanted), given.rounds)
            for what, wanted in LISTS.items():
                show(name, f"list: {what}", partial(history.page, wanted, LISTED), given.rounds)
            database.close()


if __name__ == "__main__":
    program(main)
