"""Real servers for the time of a benchmark: started on free ports, waited for, stopped whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ses.demo.processes import stop

from ses_benchmarks.probe import BenchmarkError

STOP_SECONDS = 20


def unwind_when_ended() -> None:
    """From now on SIGTERM and SIGHUP raise SystemExit, so that what was started and mounted is undone.

    Once one has come, others are ignored: they would end what undoes it.
    """

    def end(number: int, _frame: object) -> None:
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, end)


def run_to_the_end(command: Sequence[str | Path], env: Mapping[str, str]) -> None:
    """Run a command; whatever ends the waiting ends it and all that it started, until they are gone.

    Raises CalledProcessError.
    """
    gone, held = os.pipe()  # all of them hold its other end
    process = None
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, env=env, pass_fds=(held,), process_group=0
        )
        status = process.wait()
    except BaseException:
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
    finally:
        os.close(held)
        os.read(gone, 1)
        os.close(gone)
    if status != 0:
        raise subprocess.CalledProcessError(status, command)


@contextmanager
def server(
    command: Sequence[str | Path], log: Path, ready: Callable[[], bool], seconds: float
) -> Iterator[int]:
    """Run ``command`` until the block ends, its output going to ``log``; yields its process id.

    Waits until ``ready()``.  Raises BenchmarkError with the end of the log when the process ends first or
    is not ready after ``seconds``.
    """
    with log.open("wb") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + seconds
        while not ready():
            ended = process.poll() is not None
            if ended or time.monotonic() > deadline:
                what = f"ended with {process.returncode}" if ended else f"was not ready after {seconds:g} s"
                log_end = log.read_text(errors="replace")[-2000:]
                raise BenchmarkError(f"{Path(command[0]).name} {what}:\n{log_end}")
            time.sleep(0.05)
        yield process.pid
    finally:
        stop(process, STOP_SECONDS)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used: processor seconds since it began, and resident memory in MB."""

    processor_seconds: float
    resident_mb: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        """Read it now."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        ticks = int(fields[11]) + int(fields[12])
        return cls(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def children(pid: int) -> list[int]:
    """The processes that a process started; none when it has ended."""
    with suppress(OSError):
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return []


def sleeps(pid: int) -> int:
    """How often the threads of a process gave up the processor to wait."""
    statuses = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0]) for text in statuses)


def processor_seconds(pid: int) -> float:
    """What a process, those it started and those they waited for have used since they began."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # it ended meanwhile, and counts where it is waited for
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(processor_seconds, children(pid)))
