"""What monitoring every few milliseconds does to a busy server, with a core for it and without.

Section 4.4 of OSU-CISRC-8/07-TR53: a client asks a web server (nginx) again and again for a file of 16 KB,
while this node's devices are sampled (smed-sampler), or the tables of N other servers are read from memory
(smed-mirror).  One smed-sampler of this machine stands for all N; its table is read through the kernel
(provider ``shm`` of libfabric), so that no process is woken by a reading, as with hardware.  It stays on the
core that is given away, since other servers have cores of their own.

* ``default``: clients and server have all cores, the monitor sleeps between readings, on any core;
* ``shared``: clients and server have one core less, and the monitor sleeps on one of these (RDMA-Sync);
* ``dedicated``: clients and server have one core less, and the monitor polls on the free one (DC-RDMA-Sync).

``default`` and ``dedicated`` are on equal cores.  Each run is compared with the run without a monitor, on as
many cores, right before it; rows without a monitor compare each such run with the next: what differs there
is noise.
A client waits for each answer.  One client does not fill two cores, so that one given away is not missed.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts

NONE, DEFAULT, SHARED, DEDICATED = "none", "default", "shared", "dedicated"
WAYS = (DEFAULT, SHARED, DEDICATED)
ALONE = {NONE: NONE, SHARED: "none, one core less"}  # runs without a monitor, by whose cores they have
ALPHA = 0.1
PAGE_BYTES = 16 * 1024
MAX_DEVICES = 24
MIN_RESPONSES = 100
PATIENCE_SECONDS = 30.0
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
class Grid:
    """What is measured.  No servers (0): smed-sampler of this node."""

    servers: tuple[int, ...] = (0, 1, 4, 16, 32)
    periods: tuple[int, ...] = (1, 4, 16)
    seconds: float = 2.0
    rounds: int = 3
    clients: int = 1


SHORT = Grid(servers=(0, 16), periods=(1, 16), seconds=1.0, rounds=1)


@dataclass(frozen=True, slots=True)
class Line:
    """A way to monitor, medians over the rounds.  Shares are of 1; shifts too, of the run without a monitor.

    ``over`` are the responses above 1.1 times the mean of their own run, as in the paper, ``over_base`` those
    above 1.1 times the mean without a monitor.  ``p99_between`` is where the median of ``p99`` lies with a
    confidence of 95 %.  ``equal_p50`` and ``equal_p99`` compare with all cores.
    """

    way: str
    servers: int
    period_ms: int
    processor: float
    mean_us: float
    over: float
    over_base: float
    p50: float
    p99: float
    p99_between: tuple[float, float]
    equal_p50: float
    equal_p99: float


@dataclass(frozen=True, slots=True)
class Run:
    """The responses of one run, us, and the processor time of the monitor as a share of a core."""

    taken: Sequence[float]
    processor: float = 0.0

    def quantile(self, percent: int) -> float:
        """The time that ``percent`` % of the responses took at most."""
        return statistics.quantiles(self.taken, n=100)[percent - 1]

    def over(self, mean: float) -> float:
        """The share of responses above 1.1 times ``mean``."""
        return sum(response > (1 + ALPHA) * mean for response in self.taken) / len(self.taken)


@dataclass(frozen=True, slots=True)
class Cores:
    """All cores, those without the free one, and that one."""

    every: frozenset[int]
    fewer: frozenset[int]
    free: int


def cores() -> Cores:
    """Divide the cores this process may use; raises DemoError where there is only one."""
    every = frozenset(os.sched_getaffinity(0))
    if len(every) < 2:
        raise DemoError("A core can be given away only where there are two.")
    return Cores(every, every - {max(every)}, max(every))


def compare(way: str, servers: int, period: int, rounds: Sequence[tuple[Run, Run, Run]]) -> Line:
    """Return the medians; a round is the run, one without a monitor on its cores, and one on all cores."""

    def median(value: Callable[[Run, Run, Run], float]) -> float:
        return statistics.median(value(*each) for each in rounds)

    def shifts(hundredth: int, base: int) -> list[float]:
        return [runs[0].quantile(hundredth) / runs[base].quantile(hundredth) - 1 for runs in rounds]

    def shift(hundredth: int, base: int) -> float:
        return statistics.median(shifts(hundredth, base))

    return Line(
        way, servers, period,
        processor=median(lambda run, *_: run.processor),
        mean_us=median(lambda run, *_: statistics.fmean(run.taken)),
        over=median(lambda run, *_: run.over(statistics.fmean(run.taken))),
        over_base=median(lambda run, base, _: run.over(statistics.fmean(base.taken))),
        p50=shift(50, 1), p99=shift(99, 1), p99_between=median_between(shifts(99, 1)),
        equal_p50=shift(50, 2), equal_p99=shift(99, 2),
    )  # fmt: skip


def median_between(values: Sequence[float]) -> tuple[float, float]:
    """Return the values between which the median lies with a confidence of 95 %, of few all of them.

    The order statistics of a sign test: of n values, fewer than k lie on one side of the median with the
    probability of fewer than k heads in n throws.
    """
    ordered, count = sorted(values), len(values)
    outside, heads = 0, 1 / 2**count
    while heads <= 0.025 and outside < count // 2:
        outside += 1
        heads += math.comb(count, outside) / 2**count
    left_out = max(0, outside - 1)
    return ordered[left_out], ordered[-1 - left_out]


def measure(
    grid: Grid, programs: Programs, interrupts: Interrupts, progress: Callable[[str], None]
) -> list[Line]:
    """Run every way at every number of servers and period, in turns."""
    mine = cores()
    runs_of: dict[tuple[str, int, int], list[tuple[Run, Run, Run]]] = {}
    cells = [(count, period) for count in grid.servers for period in grid.periods]
    try:
        with tempfile.TemporaryDirectory(prefix="ses-dedicated-") as name:
            folder = Path(name)
            folder.chmod(0o755)  # nginx started by root reads it as another user
            with (
                _nginx(programs.nginx, folder) as (server, address),
                _served(programs.sampler, folder, mine.free) as port,
            ):

                def measured(way: str, count: int, period: int) -> Run:
                    interrupts.check()
                    used = mine.every if way in (NONE, DEFAULT) else mine.fewer
                    for each in _family(server):
                        os.sched_setaffinity(each, used)
                    os.sched_setaffinity(0, mine.every)
                    command = _monitor(programs, folder, mine, way, count, period, port)
                    with _running(command, folder, count) as pid:
                        os.sched_setaffinity(0, used)
                        before, begun = _used(pid), time.monotonic()
                        taken = together(address, grid.seconds, grid.clients)
                        processor = (_used(pid) - before) / (time.monotonic() - begun)
                    return Run(taken, processor)

                base: dict[str, Run] = {}
                for turn in range(grid.rounds):
                    forth = turn % 2 == 0
                    for count, period in cells if forth else reversed(cells):
                        for way in WAYS if forth else reversed(WAYS):
                            progress(f"{way}, {count or 'no'} servers, every {period} ms")
                            used = NONE if way == DEFAULT else SHARED
                            before, base[used] = base.get(used), measured(used, 0, 0)
                            if before is not None:
                                runs = (base[used], before, base[NONE])
                                runs_of.setdefault((ALONE[used], 0, 0), []).append(runs)
                            runs = (measured(way, count, period), base[used], base[NONE])
                            runs_of.setdefault((way, count, period), []).append(runs)
    finally:
        os.sched_setaffinity(0, mine.every)
    order = [key for name in ALONE.values() if (key := (name, 0, 0)) in runs_of]
    order += [(way, count, period) for count, period in cells for way in WAYS]
    return [compare(*key, runs_of[key]) for key in order]


def together(address: tuple[str, int], seconds: float, clients: int) -> list[float]:
    """Return what ``responses`` gives to several clients at the same time, each a process."""
    if clients == 1:
        return responses(address, seconds)
    running = [_client(address, seconds) for _ in range(clients)]
    taken = array("d")
    for process, answers in running:
        with answers:
            taken.frombytes(answers.read())
        if os.waitpid(process, 0)[1] != 0:
            raise DemoError("A client got no answer from nginx.")
    return taken.tolist()


def _client(address: tuple[str, int], seconds: float) -> tuple[int, BinaryIO]:
    """Start a client; its number, and where its answers come from when it has ended."""
    answers, finish = os.pipe()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.close(answers)
            with os.fdopen(finish, "wb") as into:
                into.write(array("d", responses(address, seconds)).tobytes())
            status = 0
        finally:
            os._exit(status)
    os.close(finish)
    return process, os.fdopen(answers, "rb")


def responses(address: tuple[str, int], seconds: float) -> list[float]:
    """Ask for the page again and again over one connection; how long each answer took, us."""
    request = b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n"
    taken: list[float] = []
    with socket.create_connection(address, PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        whole = b""
        while len(whole.partition(b"\r\n\r\n")[2]) < PAGE_BYTES:
            more = connection.recv(65536)
            if not more:
                raise DemoError("nginx closed the connection.")
            whole += more
            if not whole.startswith(b"HTTP/1.1 200"):
                raise DemoError(f"nginx answers {whole[:40]!r}.")
        length, buffer, end = len(whole), bytearray(65536), time.monotonic() + seconds
        while time.monotonic() < end or len(taken) < MIN_RESPONSES:
            started, left = time.perf_counter_ns(), length
            connection.sendall(request)
            while left > 0:
                count = connection.recv_into(buffer)
                if count == 0:
                    raise DemoError("nginx closed the connection.")
                left -= count
            taken.append((time.perf_counter_ns() - started) / 1000)
    return taken


def _monitor(
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


@contextlib.contextmanager
def _running(command: list[str], folder: Path, count: int) -> Iterator[int]:
    """Run a monitor that has begun to read; its number, 0 where there is none."""
    if not command:
        yield 0
        return
    tables = [folder / "tables" / f"s{number}" for number in range(count)] or [folder / "own"]
    before = [_last(table) for table in tables]
    with _started(command, folder / "monitor.log") as program:
        for table, last in zip(tables, before, strict=True):
            _wait(program, lambda table=table, last=last: _last(table) > last, "reads nothing", folder)  # type: ignore[misc]
        yield program.pid


def _last(table: Path) -> int:
    """Return the sequence of a table's first record, 0 where it is not read one-sidedly or sampled here."""
    try:
        content = table.read_bytes()
        via = _TABLE_HEAD.unpack_from(content)[7]
        sequence: int = struct.unpack_from("=I", content, _TABLE_HEAD.size)[0]
    except (OSError, struct.error):
        return 0
    return sequence if via in (0, _ONE_SIDED) else 0


@contextlib.contextmanager
def _nginx(program: Path, folder: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    """Run the web server; its number and address."""
    (folder / "pages").mkdir()
    (folder / "pages" / "page").write_bytes(os.urandom(PAGE_BYTES))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = ("127.0.0.1", int(free.getsockname()[1]))
    (folder / "nginx.conf").write_text(
        _NGINX.format(folder=folder, port=address[1], workers=len(os.sched_getaffinity(0)))
    )
    with _started(
        [str(program), "-p", str(folder), "-c", f"{folder}/nginx.conf"], folder / "nginx.log"
    ) as server:
        _wait(server, lambda: _answers(address), "does not answer", folder)
        yield server.pid, address


def _answers(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, 1).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _served(program: Path, folder: Path, core: int) -> Iterator[int]:
    """Run a sampler that other nodes may read, on a core: it stands for all of them; its port."""
    (folder / "tables").mkdir()
    key = folder / "key"
    key.touch(0o600)
    key.write_text(os.urandom(16).hex())
    log = folder / "sampler.log"
    command = [
        str(program),
        "--table",
        f"{folder}/remote",
        "--period-ms",
        "20",
        "--always",
        "--core",
        str(core),
        "--sleep",
        "--listen",
        "127.0.0.1:0",
    ]
    with _started([*command, "--key-file", str(key), "--fabric", "shm", *_devices()], log) as sampler:
        _wait(sampler, lambda: "listens at" in log.read_text(), "does not listen", folder)
        if "no one-sided reads" in log.read_text():
            raise DemoError("smed-sampler cannot be read one-sidedly here: is libfabric1 installed?")
        yield int(log.read_text().split("listens at 127.0.0.1:")[1].split()[0])


@contextlib.contextmanager
def _started(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        program = subprocess.Popen(command, stderr=output, stdout=output, start_new_session=True)
    try:
        yield program
    finally:
        program.terminate()
        try:
            program.wait(10)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


def _wait(program: subprocess.Popen[bytes], done: Callable[[], bool], what: str, folder: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        if program.poll() is not None or time.monotonic() > end:
            logs = [path.read_text(errors="replace").strip() for path in folder.glob("*.log")]
            name = Path(str(program.args[0])).name  # type: ignore[index]
            raise DemoError(f"{name} {what}. {' '.join(filter(None, logs))[-300:]}")
        time.sleep(0.005)


def _family(process: int) -> list[int]:
    """Return a process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(int(child) for child in children)]


def _used(process: int) -> float:
    """Return the processor seconds of a process, 0 of none."""
    if process == 0:
        return 0.0
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    total = 0
    for task in tasks:
        with contextlib.suppress(OSError):  # a thread that has just ended
            total += int(task.read_text().split()[0])
    return total / 1e9
