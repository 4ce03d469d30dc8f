"""The programs of :mod:`.dedicated`: the web server, the monitors, and the sampler that they read."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ses.demo.faults import DemoError
from ses.demo.processes import Processes, answers, free_port

DEFAULT, SHARED, DEDICATED = "default", "shared", "dedicated"
MAX_DEVICES = 24
_TABLE_HEAD = struct.Struct("=IHHQIIQI28xQ56x")  # libses/extras/sampler/table.h
_ONE_SIDED = 1
_NGINX = """
daemon off; worker_processes {workers}; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path {folder}/t; proxy_temp_path {folder}/t; fastcgi_temp_path {folder}/t;
  uwsgi_temp_path {folder}/t; scgi_temp_path {folder}/t;
  server {{ listen 127.0.0.1:{port}; root {folder}/pages; }}
}}
"""


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the programs are."""

    nginx: Path
    sampler: Path
    mirror: Path


@dataclass(frozen=True, slots=True)
class Cores:
    """All cores, those without the free one, and that one."""

    every: frozenset[int]
    fewer: frozenset[int]
    free: int


def monitor(
    programs: Programs, folder: Path, mine: Cores, way: str, count: int, period: int, port: int
) -> list[str]:
    """Return the command, or nothing for a run without a monitor."""
    if period == 0:
        return []
    where = {
        DEFAULT: [],
        SHARED: ["--core", str(min(mine.fewer)), "--sleep"],
        DEDICATED: ["--core", str(mine.free)],
    }[way]
    common = ["--period-ms", str(period), "--always", *where]
    if count == 0:
        return [str(programs.sampler), "--table", f"{folder}/own", *common, *_devices()]
    names = [f"s{number}=127.0.0.1:{port}" for number in range(count)]
    keys = ["--directory", f"{folder}/tables", "--key-file", f"{folder}/key", "--one-sided"]
    return [str(programs.mirror), *keys, *common, *names]


def _devices() -> list[str]:
    devices = sorted(path.name for path in Path("/sys/class/block").iterdir() if (path / "stat").exists())
    if not devices:
        raise DemoError("This node has no block device to sample.")
    return (devices * MAX_DEVICES)[:MAX_DEVICES]


@contextmanager
def running(processes: Processes, command: list[str], folder: Path, count: int) -> Iterator[int]:
    """Run a monitor that has begun to read; its number, 0 where there is none."""
    if not command:
        yield 0
        return
    tables = [folder / "tables" / f"s{number}" for number in range(count)] or [folder / "own"]
    before = [_last(table) for table in tables]
    processes.start(
        "monitor", command,
        lambda: all(_last(table) > last for table, last in zip(tables, before, strict=True)),
    )  # fmt: skip
    try:
        processes.wait_ready()
        yield processes.pid("monitor")
    finally:
        processes.stop("monitor")


def _last(table: Path) -> int:
    """Return the sequence of a table's first record, 0 where it is not read one-sidedly or sampled here."""
    try:
        content = table.read_bytes()
        via = _TABLE_HEAD.unpack_from(content)[7]
        sequence: int = struct.unpack_from("=I", content, _TABLE_HEAD.size)[0]
    except (OSError, struct.error):
        return 0
    return sequence if via in (0, _ONE_SIDED) else 0


def start_nginx(processes: Processes, program: Path, folder: Path, sizes: Sequence[int]) -> tuple[str, int]:
    """Start the web server, with a page of each size, in KiB; its address."""
    (folder / "pages").mkdir()
    for size in sizes:
        (folder / "pages" / f"page-{size}").write_bytes(os.urandom(size * 1024))
    port = free_port()
    (folder / "nginx.conf").write_text(
        _NGINX.format(folder=folder, port=port, workers=len(os.sched_getaffinity(0)))
    )
    command = [str(program), "-p", str(folder), "-c", f"{folder}/nginx.conf"]
    processes.start("nginx", command, answers(f"http://127.0.0.1:{port}/page-{sizes[0]}"))
    return "127.0.0.1", port


def serve(processes: Processes, program: Path, folder: Path, core: int) -> int:
    """Run a sampler that other nodes may read, on a core: it stands for all of them; its port.

    Raises DemoError.
    """
    (folder / "tables").mkdir()
    key = folder / "key"
    key.touch(0o600)
    key.write_text(os.urandom(16).hex())
    command = [str(program), "--table", f"{folder}/remote", "--period-ms", "20", "--always"]
    command += ["--core", str(core), "--sleep", "--listen", "127.0.0.1:0"]
    log = folder / "logs/sampler.log"
    processes.start(
        "sampler", [*command, "--key-file", str(key), "--fabric", "shm", *_devices()],
        lambda: "listens at" in log.read_text(),
    )  # fmt: skip
    processes.wait_ready()
    if "no one-sided reads" in log.read_text():
        raise DemoError("smed-sampler cannot be read one-sidedly here: is libfabric1 installed?")
    return int(log.read_text().split("listens at 127.0.0.1:")[1].split()[0])


def family(process: int) -> list[int]:
    """Return a process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(int(child) for child in children)]
