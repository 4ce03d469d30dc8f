"""A PostgreSQL server of a test's own, on a socket, that can be stopped and started again."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from ran import ran


class PostgresServer:
    """Debian's PostgreSQL in a folder of its own; ``url`` names its empty database,
    ``connection`` says the same to libpq."""

    def __init__(self) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not programs:
            pytest.skip("Debian's postgresql is not installed")
        self._programs = programs[-1].parent
        # Not under pytest's own directory: that one is closed to the user the server must run as.
        made = subprocess.check_output(["mktemp", "-d", "/tmp/service-pg-XXXXXX"], text=True)
        self._base = Path(made.strip())
        self._as: list[str] = []
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                pytest.skip("PostgreSQL does not run as root and setpriv is missing")
            shutil.chown(self._base, "nobody")
            self._as = ["setpriv", "--reuid=nobody", "--clear-groups", "--"]
        self.connection = f"host={self._base} user=service dbname=postgres"
        self.url = f"postgresql+psycopg://service@/postgres?host={self._base}"
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "service", "--no-sync")

    @property
    def _data(self) -> str:
        return str(self._base / "data")

    def start(self) -> None:
        options = f"-k {self._base} -c listen_addresses='' -c fsync=off"
        log = str(self._base / "log")
        self._run("pg_ctl", "-D", self._data, "-w", "-t", "60", "-o", options, "-l", log, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-t", "60", "-m", "immediate", "stop")

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Let no process of the running server do anything; connections stay."""
        stopped: list[int] = []
        try:
            while new := [process for process in self._processes() if process not in stopped]:
                for process in new:
                    os.kill(process, signal.SIGSTOP)
                stopped += new
            yield
        finally:
            for process in stopped:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        first = int((self._base / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def sql(self, *statements: str) -> list[str]:
        """Run statements as the database's owner; return the rows.  The server must be running."""
        commands = [word for statement in statements for word in ("-c", statement)]
        return self._run("psql", "-Atq", "-h", str(self._base), "-U", "service", *commands, "postgres")

    def url_of(self, encoding: str) -> str:
        """The URL of an empty database that keeps text so; the server must be running."""
        name = f"of_{encoding.lower()}"
        self.sql(f"create database {name} encoding '{encoding}' locale 'C' template template0")
        return self.url.replace("/postgres?", f"/{name}?")

    def ask_for_password(self, user: str, password: str) -> None:
        """Make a user who must give a password; the server must be running."""
        self.sql(f"create role {user} login password '{password}'")
        rules = self._base / "data" / "pg_hba.conf"
        rules.write_text(f"local all {user} scram-sha-256\n{rules.read_text('utf-8')}", "utf-8")
        self._run("pg_ctl", "-D", self._data, "reload")

    def remove(self) -> None:
        if (self._base / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._base)

    def _run(self, program: str, *arguments: str) -> list[str]:
        command = [*self._as, str(self._programs / program), *arguments]
        done = ran(command, cwd=self._base)
        return done.stdout.splitlines()


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresServer]:
    """A running server."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()
