"""What fine sampling does to a program beside it: the degradation metric of Vaidyanathan et al. (2007).

A program answers requests of about 100 us of work on one core; smed-sampler samples every device of this
node every 1, 4 or 16 ms on the same core (shared) or on another (dedicated).  Degradation is the share of
requests that took more than (1 + alpha) times the mean, alpha = 10 %  (section 4.4.4 of the report),
with the mean of the run without sampler, so that a run that is slow throughout shows too.  Runs are
interleaved; the shift of p50 and p99 is against the run without a sampler in the same round.

    .venv/bin/python benchmarks/monitor/fine_grain.py [--rounds 3] [--requests 20000]

A round is ten runs of --requests times 100 us, 20 s by default.  Wants a machine that does nothing else;
the load it saw is in the first line.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLER = ROOT / "build" / "libses" / "extras/sampler" / "smed-sampler"
ALPHA = 0.10
REQUEST_US = 100.0
TRIAL_BYTES = 60_000


def requests(count: int, work: bytes) -> list[float]:
    """Times of ``count`` requests that digest ``work``, microseconds."""
    taken = []
    for _ in range(count):
        start = time.perf_counter_ns()
        hashlib.sha256(work).digest()
        taken.append((time.perf_counter_ns() - start) / 1000)
    return taken


def work_for(microseconds: float) -> bytes:
    """What this machine digests in ``microseconds`` when nothing disturbs it."""
    undisturbed = min(requests(200, bytes(TRIAL_BYTES)))
    return bytes(int(TRIAL_BYTES * microseconds / undisturbed))


def degradation(taken: Sequence[float], mean: float) -> float:
    """Share of requests beyond (1 + alpha) times ``mean``."""
    return sum(each > (1 + ALPHA) * mean for each in taken) / len(taken)


def with_sampler(sampler: Path, period: int, core: int, fifo: bool, count: int, work: bytes) -> list[float]:
    """Times of requests while the sampler runs on ``core``."""
    devices = sorted(path.name for path in Path("/sys/class/block").iterdir() if (path / "stat").exists())
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(sampler),
            "--table",
            f"{folder}/t",
            "--period-ms",
            str(period),
            "--core",
            str(core),
            "--sleep",
        ]
        command += ["--always", *(["--fifo", "10"] if fifo else []), *devices]
        running = subprocess.Popen(command)
        try:
            while not (Path(folder) / "t").exists():
                time.sleep(0.001)
                assert running.poll() is None, "the sampler did not start"
            return requests(count, work)
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(10)


def main() -> None:
    """Print one row for each way to sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--sampler", type=Path, default=SAMPLER)
    chosen = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})
    ways = [
        (name, core, fifo, period)
        for name, core, fifo in (
            ("shared", cores[0], False),
            ("shared, FIFO", cores[0], True),
            ("dedicated", cores[-1], False),
        )
        for period in (1, 4, 16)
    ]
    work = work_for(REQUEST_US)
    found: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for _ in range(chosen.rounds):
        basic = requests(chosen.requests, work)
        mean = statistics.fmean(basic)
        share = degradation(basic, mean)
        p50, p99 = (statistics.quantiles(basic, n=100)[rank] for rank in (49, 98))
        for name, core, fifo, period in ways:
            taken = with_sampler(chosen.sampler, period, core, fifo, chosen.requests, work)
            quantiles = statistics.quantiles(taken, n=100)
            found.setdefault((name, period), []).append(
                (share, degradation(taken, mean), quantiles[49] - p50, quantiles[98] - p99)
            )
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; one request takes {p50:.0f} us")
    print("sampler       every   degradation without, with   p50 shift   p99 shift")
    for (name, period), rounds in found.items():
        base, share, shift50, shift99 = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(
            f"{name:13} {period:3} ms {base * 100:14.1f} % {share * 100:8.1f} % "
            f"{shift50:8.2f} us {shift99:8.1f} us"
        )


if __name__ == "__main__":
    main()
