"""near_fdw: a server of PostgreSQL has the rows of a file that is read elsewhere, as file_fdw has them."""

import os
import random
import signal
from itertools import count
from pathlib import Path

import psycopg
import pytest
from offload_programs import build_near_fdw, prefix
from patience import wait_until
from postgresql_server import PostgresServer, postgresql

__all__ = ["postgresql", "prefix"]

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "libses/extras/offload/postgresql"
TABLES, QUERIES = 30, 25
TYPES = (
    "int",
    "int",
    "smallint",
    "bigint",
    "text",
    "text",
    'text collate "C"',
    "varchar",
    "varchar(6)",
    "numeric",
)
NUMBERS = ("0", "7", "-7", "+7", "007", " 7", "7 ", "12", "-0", "32000", "\\N")
TEXTS = (
    "",
    "7",
    "a",
    "A",
    "ab",
    "a ",
    "é",
    "\\N",
    "\\\\N",
    "a\\,b",
    "a\\\nb",
    "\\x61",
    "\\141",
    "a\\tb",
    "b\\\\",
)
CONSTANTS = ("''", "'7'", "'a'", "'A'", "'ab'", "'a '", "'é'", "'N'", "'\\N'", "'a,b'", "E'a\\nb'", "'b\\'")
pytestmark = pytest.mark.long

numbers = count()


@pytest.fixture(scope="module")
def server(prefix: Path, postgresql: PostgresServer) -> PostgresServer:
    """The server with the extension, built against the installed library."""
    built = prefix / "near_fdw"
    build_near_fdw(prefix, built)
    script = (SOURCE / "near_fdw--0.1.sql").read_text().replace("MODULE_PATHNAME", f"{built}/near_fdw")
    postgresql.sql(
        script,
        "create server near foreign data wrapper near_fdw "
        f"options (node 'here', program '{built}/ses-near-scan')",
        "create extension file_fdw",
        "create server file foreign data wrapper file_fdw",
    )
    return postgresql


class Table:
    """A file as a table of both: `near_N` and `file_N`."""

    def __init__(
        self, server: PostgresServer, folder: Path, columns: str, text: str, delimiter: str = ","
    ) -> None:
        number = next(numbers)
        self._server, self.path = server, folder / f"{number}.txt"
        self.path.write_bytes(text.encode())
        self.names = {kind: f"{kind}_{number}" for kind in ("near", "file")}
        options = f"filename '{self.path}', delimiter E'{delimiter}'"
        server.sql(*(
            f"create foreign table {name} ({columns}) server {kind} options ({options})"
            for kind, name in self.names.items()
        ))  # fmt: skip

    def answers(self, kind: str, *queries: str) -> list[str]:
        """What the queries return, in which TABLE stands for its name."""
        return self._server.sql(*(query.replace("TABLE", self.names[kind]) for query in queries))

    def agrees(self, *queries: str) -> list[str]:
        near, file = (self.answers(kind, *queries) for kind in ("near", "file"))
        assert near == file, queries
        return near

    def refused(self, kind: str, query: str) -> str:
        return refused(self._server, query.replace("TABLE", self.names[kind]))


def refused(server: PostgresServer, statement: str) -> str:
    with pytest.raises(AssertionError) as refusal:
        server.sql(statement)
    return str(refusal.value).partition("\n")[2]


def random_table(chance: random.Random, server: PostgresServer, folder: Path) -> tuple[Table, list[str]]:
    """A table, and the type of each of its columns."""
    types = [chance.choice(TYPES) for _ in range(chance.randint(1, 6))]
    newline = chance.choice(("\n", "\n", "\r\n"))
    delimiter = chance.choice((",", ",", "|", "\t"))

    def field(kind: str) -> str:
        value = chance.choice(NUMBERS if kind in ("int", "smallint", "bigint", "numeric") else TEXTS)
        return value.replace("\\,", f"\\{delimiter}")

    rows = [delimiter.join(field(kind) for kind in types) for _ in range(chance.randint(0, 200))]
    end = chance.choice(("", newline, f"{newline}\\.{newline}ignored{newline}")) if rows else ""
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(types))
    written = {"\t": "\\t"}.get(delimiter, delimiter)
    return Table(server, folder, columns, newline.join(rows) + end, written), types


def random_condition(chance: random.Random, types: list[str]) -> str:
    number = chance.randrange(len(types))
    column, kind = f"c{number}", types[number]
    operator = chance.choice(("=", "<>", "<", "<=", ">", ">="))
    if kind in ("int", "smallint", "bigint", "numeric"):
        constant = chance.choice(("7", "-7", "0", "12", "3000000000", "7::smallint", "7.0", "null"))
    else:
        constant = chance.choice(CONSTANTS)
    simple = (f"{column} {operator} {constant}", f"{constant} {operator} {column}")
    other = (
        f"{column} is null", f"{column} is not null", f"not ({simple[0]})", f"({simple[0]} or c0 is null)",
        f"length({column}::text) < 2",
    )  # fmt: skip
    return chance.choice((*simple, *simple, *simple, *other))


def random_query(chance: random.Random, types: list[str]) -> str:
    columns = [f"c{number}" for number in range(len(types))]
    what = chance.choice((
        "*", "count(*)", "TABLE", ", ".join(chance.sample(columns, chance.randint(1, len(columns)))),
        f"max({chance.choice(columns)})", "tableoid is null",
    ))  # fmt: skip
    conditions = [random_condition(chance, types) for _ in range(chance.randint(0, 3))]
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"select {what} from TABLE{where}"


@pytest.mark.parametrize("seed", range(3))
def test_random_queries_of_random_tables_have_the_rows_of_file_fdw(
    server: PostgresServer, prefix: Path, seed: int
) -> None:
    chance = random.Random(seed)
    rows = 0
    for _ in range(TABLES // 3):
        table, types = random_table(chance, server, prefix)
        queries = [random_query(chance, types) for _ in range(QUERIES)]
        rows += len(table.agrees(*queries, "select 'end'"))
    assert rows > TABLES * QUERIES


def test_a_table_of_many_pieces_is_read_whole_and_again(server: PostgresServer, prefix: Path) -> None:
    rows = "".join(f"{number},{number % 1000},{'x' * 60}\n" for number in range(600_000))
    table = Table(server, prefix, "a int, b int, c text", rows)
    assert table.path.stat().st_size > 40_000_000
    assert table.agrees("select count(*), sum(a), max(c) from TABLE")[0].startswith("600000|")
    table.agrees("select a from TABLE where b = 7")
    joined = ("set enable_hashjoin = off", "set enable_mergejoin = off", "set enable_material = off",
              "select count(*) from (values (7), (8)) as v(b) join TABLE as t on t.b + 0 = v.b")  # fmt: skip
    assert table.agrees(*joined) == ["1200"]
    table.agrees("select * from TABLE limit 3", "select count(*) from TABLE as s, TABLE as t where s.a = t.b")


def test_columns_that_are_dropped_or_have_a_default_change_no_field(
    server: PostgresServer, prefix: Path
) -> None:
    table = Table(server, prefix, "a int, gone int, b int default 5, c text", "1,2,x\n3,4,y\n")
    for kind in ("near", "file"):
        table.answers(kind, "alter foreign table TABLE drop column gone")
    assert table.agrees("select c from TABLE where b = 4", "select a from TABLE", "select * from TABLE") == [
        "y", "1", "3", "1|2|x", "3|4|y",
    ]  # fmt: skip


def test_explain_shows_what_goes_to_the_node_and_what_does_not(server: PostgresServer, prefix: Path) -> None:
    table = Table(server, prefix, 'a int, b text, c text collate "C", d int', "1,x,y,2\n")
    conditions = "a <> 7 and b = 'x' and 'z' > c and d + 0 = 2"
    said = table.answers("near", f"explain select a from TABLE where {conditions}")
    lines = [line.strip() for line in said]
    assert f"Near File: {table.path}" in lines
    assert "Near Node: here" in lines
    assert "Near Columns: 4" in lines
    assert "Near Filter: ((a <> 7) AND ('z'::text > c) AND (b = 'x'::text))" in lines
    assert any(line.startswith("Filter:") and "(d + 0) = 2" in line for line in lines)
    received = table.answers("near", "explain (analyze, timing off) select a from TABLE where a = 8")
    assert any(line.strip().startswith("Near Received:") for line in received)


def test_equality_that_is_not_of_bytes_stays_here(server: PostgresServer, prefix: Path) -> None:
    server.sql("create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    table = Table(server, prefix, "a text collate loose", "a\nA\nb\n")
    assert table.agrees("select * from TABLE where a = 'a'") == ["a", "A"]


def test_an_error_of_the_node_is_an_error_of_the_query_with_its_cause(
    server: PostgresServer, prefix: Path
) -> None:
    table = Table(server, prefix, "a int, b int", "1,2\n")
    table.path.unlink()
    assert "No such file or directory" in table.refused("near", "select * from TABLE")
    table.path.mkdir()
    assert "it is not a regular file" in table.refused("near", "select * from TABLE")
    table = Table(server, prefix, "a int, b int", "1,2\r3,4\r")
    assert "its rows do not end with a newline" in table.refused("near", "select * from TABLE")
    table = Table(server, prefix, "a int", "1" * 17_000_000)
    assert "a row has more than 16 MiB" in table.refused("near", "select * from TABLE")
    for text in ("1,2,3\n", "1\n", "x,2\n", "1,2\\.x\n"):
        table = Table(server, prefix, "a int, b int", f"5,6\n{text}7,8\n")
        said = [table.refused(kind, "select b from TABLE where a <> 5 or b > 0").splitlines()[0]
                for kind in ("near", "file")]  # fmt: skip
        assert said[0] == said[1]
    server.sql(
        "create server nowhere foreign data wrapper near_fdw options (node 'here', program '/nowhere')"
    )
    server.sql("create foreign table lost (a int) server nowhere options (filename '/a')")
    why = refused(server, "select * from lost")
    assert "a scan cannot be started there" in why
    assert "/nowhere: No such file or directory" in why


def test_options_are_for_those_who_may_start_programs_of_the_server(server: PostgresServer) -> None:
    server.sql("create role plain", "grant usage on foreign server near to plain",
               "grant create on schema public to plain")  # fmt: skip
    made = "create foreign table t (a int) server near"
    for statement, why in (
        (
            f"set role plain; {made} options (filename '/a')",
            "need the privileges of pg_execute_server_program",
        ),
        (f"{made} options (filename 'relative')", "must be an absolute path"),
        (f"{made} options (filename '/a', delimiter '::')", "delimiter must be"),
        (f"{made} options (filename '/a', node 'n')", 'no option "node" here'),
        (made, 'needs the option "filename"'),
        ("create server s foreign data wrapper near_fdw", 'needs the option "node"'),
    ):
        assert why in refused(server, statement)


def storage_part_of(connection: psycopg.Connection) -> int:
    backend = connection.info.backend_pid
    (part,) = Path(f"/proc/{backend}/task/{backend}/children").read_text().split()
    return int(part)


def test_a_file_that_cannot_be_looked_at_stays_open_in_no_storage_part(
    server: PostgresServer, prefix: Path
) -> None:
    table = Table(server, prefix, "a int", "1\n")
    program = prefix / "without-fstat"
    program.write_text(
        f"#!/bin/sh\nexec strace -D -qq -o /dev/null -P {table.path} -e trace=newfstatat,fstat "
        f'-e inject=newfstatat,fstat:error=EIO {prefix}/near_fdw/ses-near-scan "$@"\n'
    )
    program.chmod(0o755)
    server.sql(
        f"create server unlucky foreign data wrapper near_fdw options (node 'here', program '{program}')"
    )
    server.sql(f"create foreign table unlucky (a int) server unlucky options (filename '{table.path}')")
    open_files = set()
    with psycopg.connect(server.connection, autocommit=True) as connection:
        for _ in range(3):
            with pytest.raises(psycopg.errors.Error, match="Input/output error"):
                connection.execute("select * from unlucky")
            folder = Path(f"/proc/{storage_part_of(connection)}/fd")
            open_files.add(len(list(folder.iterdir())))
    assert len(open_files) == 1


def test_a_cancelled_query_ends_and_so_does_a_storage_part_that_is_lost(
    server: PostgresServer, prefix: Path
) -> None:
    table = Table(server, prefix, "a int", "1\n2\n3\n")
    query = f"select count(*) from {table.names['near']}"
    with psycopg.connect(server.connection, autocommit=True) as connection:
        assert connection.execute(query).fetchone() == (3,)
        first = storage_part_of(connection)
        os.kill(first, signal.SIGSTOP)
        connection.execute("set statement_timeout = '200ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(query)
        connection.execute("set statement_timeout = 0")
        os.kill(first, signal.SIGCONT)
        assert connection.execute(query).fetchone() == (3,)
        assert storage_part_of(connection) == first
        os.kill(first, signal.SIGKILL)
        assert connection.execute(query).fetchone() == (3,), "another one is started"
        second = storage_part_of(connection)
        assert second != first
        with connection.transaction():
            connection.execute(f"declare few cursor for select a from {table.names['near']}")
            assert connection.execute("fetch 1 from few").fetchall() == [(1,)]
    wait_until(lambda: not Path(f"/proc/{second}").exists(), "it ends with the session")
