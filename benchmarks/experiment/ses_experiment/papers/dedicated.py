"""What monitoring every few milliseconds does to a busy server, with a core for it and without.

Section 4.4 of OSU-CISRC-8/07-TR53: a client asks a web server (nginx) again and again for a file (of 16 KB),
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

import math
import os
import signal
import socket
import statistics
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import Processes

from ses_experiment.machine import processor_seconds
from ses_experiment.papers.dedicated_programs import (
    DEDICATED,
    DEFAULT,
    SHARED,
    Cores,
    Programs,
    family,
    monitor,
    running,
    serve,
    start_nginx,
)

NONE = "none"
WAYS = (DEFAULT, SHARED, DEDICATED)
ALONE = {NONE: NONE, SHARED: "none, one core less"}  # runs without a monitor, by whose cores they have
ALPHA = 0.1
MIN_RESPONSES = 100
TRACED = 100  # points of a trace
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Grid:
    """What is measured.  No servers (0): smed-sampler of this node."""

    servers: tuple[int, ...] = (0, 1, 4, 16, 32)
    periods: tuple[int, ...] = (1, 4, 16)
    seconds: float = 2.0
    rounds: int = 3
    clients: int = 1
    sizes: tuple[int, ...] = (16,)  # KiB


SHORT = Grid(servers=(0, 16), periods=(1, 16), seconds=1.0, rounds=1)


@dataclass(frozen=True, slots=True)
class Line:
    """A way to monitor, medians over the rounds.  Shares are of 1; shifts too, of the run without a monitor.

    ``over`` are the responses above 1.1 times the mean of their own run, as in the paper, ``over_base`` those
    above 1.1 times the mean without a monitor.  ``p99_between`` is where the median of ``p99`` lies with a
    confidence of 95 %.  ``trace_us`` has the responses of the last round in
    their order, means of equally many.  ``equal_p50`` and ``equal_p99`` compare with all cores.
    """

    way: str
    servers: int
    period_ms: int
    size_kib: int
    processor: float
    mean_us: float
    over: float
    over_base: float
    p50: float
    p99: float
    p99_between: tuple[float, float]
    equal_p50: float
    equal_p99: float
    trace_us: tuple[float, ...] = ()


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


def cores() -> Cores:
    """Divide the cores this process may use; raises DemoError where there is only one."""
    every = frozenset(os.sched_getaffinity(0))
    if len(every) < 2:
        raise DemoError("A core can be given away only where there are two.")
    return Cores(every, every - {max(every)}, max(every))


def compare(
    way: str, servers: int, period: int, rounds: Sequence[tuple[Run, Run, Run]], size: int = 16
) -> Line:
    """Return the medians; a round is the run, one without a monitor on its cores, and one on all cores."""

    def median(value: Callable[[Run, Run, Run], float]) -> float:
        return statistics.median(value(*each) for each in rounds)

    def shifts(hundredth: int, base: int) -> list[float]:
        return [runs[0].quantile(hundredth) / runs[base].quantile(hundredth) - 1 for runs in rounds]

    def shift(hundredth: int, base: int) -> float:
        return statistics.median(shifts(hundredth, base))

    return Line(
        way, servers, period, size,
        processor=median(lambda run, *_: run.processor),
        mean_us=median(lambda run, *_: statistics.fmean(run.taken)),
        over=median(lambda run, *_: run.over(statistics.fmean(run.taken))),
        over_base=median(lambda run, base, _: run.over(statistics.fmean(base.taken))),
        p50=shift(50, 1), p99=shift(99, 1), p99_between=median_between(shifts(99, 1)),
        equal_p50=shift(50, 2), equal_p99=shift(99, 2), trace_us=_trace(rounds[-1][0].taken),
    )  # fmt: skip


def _trace(taken: Sequence[float]) -> tuple[float, ...]:
    """Return means of equally many responses in their order."""
    each = max(1, len(taken) // TRACED)
    return tuple(round(statistics.fmean(taken[at : at + each]), 1) for at in range(0, each * TRACED, each))


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


def between(values: Sequence[float]) -> str:
    """Return where the median lies, as a text: with a confidence of 95 %, of few between least and most."""
    low, high = median_between(values)
    sure = 1 - 2 / 2 ** len(values) >= 0.95  # that the median of others is not beyond all of them
    return f"{'95 % interval' if sure else 'least and most'} {low:.4f} to {high:.4f}"


def measure(
    grid: Grid, programs: Programs, interrupts: Interrupts, progress: Callable[[str], None]
) -> list[Line]:
    """Run every way at every number of servers and period, in turns."""
    mine = cores()
    runs_of: dict[tuple[str, int, int, int], list[tuple[Run, Run, Run]]] = {}
    cells = [(n, period, size) for n in grid.servers for period in grid.periods for size in grid.sizes]
    try:
        with tempfile.TemporaryDirectory(prefix="ses-dedicated-") as name, ExitStack() as undo:
            folder = Path(name)
            folder.chmod(0o755)  # nginx started by root reads it as another user
            processes = Processes(folder / "logs", interrupts)
            undo.callback(processes.stop_all)
            address = start_nginx(processes, programs.nginx, folder, grid.sizes)
            port = serve(processes, programs.sampler, folder, mine.free)

            def measured(way: str, count: int, period: int, size: int) -> Run:
                interrupts.check()
                used = mine.every if way in (NONE, DEFAULT) else mine.fewer
                for each in family(processes.pid("nginx")):
                    os.sched_setaffinity(each, used)
                os.sched_setaffinity(0, mine.every)
                command = monitor(programs, folder, mine, way, count, period, port)
                with running(processes, command, folder, count) as pid:
                    os.sched_setaffinity(0, used)
                    before, begun = processor_seconds(pid), time.monotonic()
                    taken = together(address, grid.seconds, grid.clients, size)
                    processor = (processor_seconds(pid) - before) / (time.monotonic() - begun)
                return Run(taken, processor)

            base: dict[tuple[str, int], Run] = {}
            for turn in range(grid.rounds):
                forth = turn % 2 == 0
                for count, period, size in cells if forth else reversed(cells):
                    for way in WAYS if forth else reversed(WAYS):
                        progress(f"{way}, {count or 'no'} servers, every {period} ms, {size} KiB")
                        used = (NONE if way == DEFAULT else SHARED), size
                        before, base[used] = base.get(used), measured(used[0], 0, 0, size)
                        all_cores = base[NONE, size]
                        if before is not None:
                            runs = (base[used], before, all_cores)
                            runs_of.setdefault((ALONE[used[0]], 0, 0, size), []).append(runs)
                        runs = (measured(way, count, period, size), base[used], all_cores)
                        runs_of.setdefault((way, count, period, size), []).append(runs)
    finally:
        os.sched_setaffinity(0, mine.every)
    none = [(name, 0, 0, size) for size in grid.sizes for name in ALONE.values()]
    order = [key for key in none if key in runs_of]
    order += [(way, *cell) for cell in cells for way in WAYS]
    return [compare(*key[:3], runs_of[key], key[3]) for key in order]


def together(address: tuple[str, int], seconds: float, clients: int, size: int) -> list[float]:
    """Return what ``responses`` gives to several clients at the same time, each a process."""
    if clients == 1:
        return responses(address, seconds, size)
    started = [_client(address, seconds, size) for _ in range(clients)]
    taken = array("d")
    for process, answers in started:
        with answers:
            taken.frombytes(answers.read())
        if os.waitpid(process, 0)[1] != 0:
            raise DemoError("A client got no answer from nginx.")
    return taken.tolist()


def _client(address: tuple[str, int], seconds: float, size: int) -> tuple[int, BinaryIO]:
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
                into.write(array("d", responses(address, seconds, size)).tobytes())
            status = 0
        finally:
            os._exit(status)
    os.close(finish)
    return process, os.fdopen(answers, "rb")


def responses(address: tuple[str, int], seconds: float, size: int) -> list[float]:
    """Ask for the page of a size again and again over one connection; how long each answer took, us."""
    request = b"GET /page-%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % size
    taken: list[float] = []
    with socket.create_connection(address, _PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        whole = b""
        while len(whole.partition(b"\r\n\r\n")[2]) < size * 1024:
            more = connection.recv(65536)
            if not more:
                raise DemoError("nginx closed the connection.")
            whole += more
            if not whole.startswith(b"HTTP/1.1 200"):
                raise DemoError(f"nginx answers {whole[:40]!r}.")
        length, buffer, end = len(whole), bytearray(1 << 20), time.monotonic() + seconds
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
