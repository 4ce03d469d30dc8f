"""A server of PostgreSQL, whose tables lie on the node: by ``near_fdw``, and by ``file_fdw`` over the mount.

The server runs on the client, as a user who is not root.  Each client of it has a session of its own, which
asks one query of each of its tables in turn.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.parts import built
from ses.demo.processes import started

from ses_experiment import network
from ses_experiment.papers import scan
from ses_experiment.papers.storage_node import StorageNode
from ses_experiment.remote_storage import ADDRESS, RemoteStorage

TABLES = 4
"""Of a client; together they have the megabytes of a cell."""
QUERIES = {
    "server rows": "select * from {} where c0 = 7",
    "server columns": "select c1, c2 from {} where c0 = 7",
    "server count": "select count(*) from {} where c1 < 100",
    "server range": "select c2 from {} where c0 >= 10 and c0 < 20 and c5 <> 5",
    "server text": "select c0 from {} where c99 = '1234'",
    "server sum": "select sum(c3) from {} where c1 between 100 and 200",
    "server groups": "select c0, count(*) from {} group by c0 order by c0",
    "server half": "select * from {} where c1 % 2 = 0",
}
"""From one row in 80 to half of all; the last two have no condition that the storage node knows."""
WAYS = ("near", "here")
_EXTENSION = """
create function near_fdw_handler() returns fdw_handler as '{build}/near_fdw' language c strict;
create foreign data wrapper near_fdw handler near_fdw_handler;
create extension file_fdw;
create server near foreign data wrapper near_fdw
  options (node 'command:{address}', rsh '{rsh}', program '{build}/ses-near-scan');
create server here foreign data wrapper file_fdw;
"""
_SSH = (
    *("-F", "none", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no"),
    *("-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-l", "root"),
)
_READY_SECONDS = 30.0


def find(build: Path | None) -> tuple[Path, Path]:
    """Return the folders of PostgreSQL's programs and of near_fdw, below where CMake built libses; raises
    DemoError.
    """
    programs = scan.installed()
    if programs is None:
        raise DemoError("PostgreSQL is not installed (apt-get install postgresql).")
    extension = built(build) / "extras/offload/postgresql"
    if not (extension / "near_fdw.so").exists():
        raise DemoError("near_fdw is not built (apt-get install postgresql-server-dev-15, make native).")
    return programs, extension


class Server:
    """A running server.  Undone by the stack it is made with."""

    def __init__(
        self, places: tuple[Path, Path], work: Path, stand: RemoteStorage, node: StorageNode, undo: ExitStack
    ) -> None:
        """Raises DemoError."""
        programs, extension = places
        self._folder, self._stand = work / "server", stand
        self._folder.mkdir(mode=0o700)
        shutil.chown(self._folder, "nobody")
        self._psql = (str(programs / "psql"), "-X", "-q", "-h", str(self._folder), "-U", "owner", "postgres")
        data = str(self._folder / "data")
        initdb = (str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "owner", "--no-sync")
        scan.quiet([*scan.AS_USER, *initdb])
        postgres = (str(programs / "postgres"), "-D", data, "-k", str(self._folder),
                    "-c", "listen_addresses=", "-c", "fsync=off", "-c", "jit=off")  # fmt: skip
        client = (*network.inside(stand.client), *scan.AS_USER)
        with (self._folder / "log").open("wb") as log:
            process = started([*client, *postgres], undo, _READY_SECONDS, stdout=log, stderr=log)
        self._wait(process)
        self._sql(_EXTENSION.format(build=extension, address=ADDRESS, rsh=self._remote_shell(node)))

    def files(self, disk: str, megabytes: int) -> list[str]:
        """Return the files of a disk's tables."""
        return [f"{disk}/{megabytes}-{number}.csv" for number in range(1, TABLES + 1)]

    def write_tables(self, disk: str, megabytes: int) -> None:
        """Write the files of a disk's tables."""
        for number, file in enumerate(self.files(disk, megabytes), 1):
            scan.write_table(self._stand.disks / file, max(1, megabytes // TABLES), number)

    def add_tables(self, disk: str, megabytes: int) -> None:
        """Make the tables of a disk whose files are written, for both ways."""
        columns = ", ".join(f"c{number} int" for number in range(scan.COLUMNS - 1))
        columns += f", c{scan.COLUMNS - 1} text"
        for way, folder in zip(WAYS, (self._stand.disks, self._stand.mount), strict=True):
            for table, file in self._tables(way, disk, megabytes).items():
                kind = "format 'text', " if way == "here" else ""
                self._sql(
                    f"create foreign table {table} ({columns}) server {way} "
                    f"options ({kind}filename '{folder / file}', delimiter ',')"
                )

    def ask(self, way: str, query: str, disks: Sequence[str], megabytes: int) -> set[str]:
        """Have a client for each disk ask at once; returns hashes of what they were answered."""

        def of_one(disk: str) -> str:
            words = [f"copy ({QUERIES[query].format(table)}) to stdout"
                     for table in self._tables(way, disk, megabytes)]  # fmt: skip
            return hashlib.sha256(self._sql(*words)).hexdigest()

        with ThreadPoolExecutor(len(disks)) as threads:
            return set(threads.map(of_one, disks))

    def _tables(self, way: str, disk: str, megabytes: int) -> dict[str, str]:
        files = self.files(disk, megabytes)
        return {f"{way}_{disk}_{megabytes}_{number}": file for number, file in enumerate(files, 1)}

    def _remote_shell(self, node: StorageNode) -> Path:
        """Make the command by which the server reaches the storage node, as its own user there."""
        key, shell = self._folder / "key", self._folder / "rsh"
        shutil.copy(Path(self._stand.rsh[-1]).with_name("key"), key)  # beside the configuration of ssh
        key.chmod(0o600)
        shutil.chown(key, "nobody")
        words = (*node.entered_by(("ssh", *_SSH, "-i", str(key), ADDRESS)), *scan.AS_USER)
        shell.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        shell.chmod(0o755)
        return shell

    def _sql(self, *statements: str) -> bytes:
        words = [word for statement in statements for word in ("-c", statement)]
        argv = [*self._psql, "-v", "ON_ERROR_STOP=1", *words]
        done = subprocess.run(argv, capture_output=True, check=False)
        if done.returncode != 0:
            raise DemoError(f"PostgreSQL refused a statement: {done.stderr.decode().strip()}")
        return done.stdout

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _READY_SECONDS
        while (
            subprocess.run([*self._psql, "-c", "select 1"], capture_output=True, check=False).returncode != 0
        ):
            if process.poll() is not None or time.monotonic() > until:
                raise DemoError(f"PostgreSQL does not start: {(self._folder / 'log').read_text().strip()}")
            time.sleep(0.1)
