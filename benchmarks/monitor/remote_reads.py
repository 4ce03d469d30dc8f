"""What reading the table of another node's sampler costs both sides: pulled over TCP, or one-sided.

One smed-sampler stands for all servers; smed-mirror reads its table (24 records) once for each of them every
period.  Told are the processor time of both programs, as a share of a core, how often a thread of the
sampler was woken for each reading, and how many readings of a server a second brought a new sample.  Both
programs are on this machine, so the network costs what its loopback does.  No number makes this fail.

    .venv/bin/python benchmarks/monitor/remote_reads.py [--servers 16] [--period-ms 1] [--seconds 5]
        [--providers tcp,shm]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

# isort: split
from ses_benchmarks.arguments import arguments, program
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import Usage, server, sleeps

BUILT = Path(__file__).resolve().parents[2] / "build" / "libses" / "extras/sampler"
HEAD_BYTES = 128  # libses/extras/sampler/table.h
RECORDS = 24
SETTLE_SECONDS, READY_SECONDS = 2, 30


def samples(table: Path) -> int:
    """How many samples of the first device were written to the table."""
    if not table.exists():
        return 0
    return int.from_bytes(table.read_bytes()[HEAD_BYTES : HEAD_BYTES + 4], "little") // 2


@contextmanager
def both(provider: str, servers: int, period: int, folder: Path) -> Iterator[tuple[int, int]]:
    """Run the sampler, and a mirror that has read it for every server; their processes."""
    device = next(path.name for path in sorted(Path("/sys/class/block").iterdir()))
    (folder / "key").touch(0o600)
    (folder / "key").write_text(os.urandom(16).hex())
    common: list[str | Path] = ["--key-file", folder / "key", "--period-ms", str(period), "--always"]
    sampler = [BUILT / "smed-sampler", "--table", folder / "table", "--listen", "127.0.0.1:0", *common]
    sampler += [*(["--fabric", provider] if provider else []), *([device] * RECORDS)]
    log = folder / "sampler.log"
    with server(sampler, log, lambda: "listens at" in log.read_text(), READY_SECONDS) as reads_from:
        port = log.read_text().split("listens at 127.0.0.1:")[1].split()[0]
        names = [f"s{number}" for number in range(servers)]
        mirror = [BUILT / "smed-mirror", "--directory", folder, *common]
        mirror += [*(["--one-sided"] if provider else []), *(f"{name}=127.0.0.1:{port}" for name in names)]
        has_read = lambda: all(samples(folder / name) for name in names)  # noqa: E731
        with server(mirror, folder / "mirror.log", has_read, READY_SECONDS) as reader:
            if provider and "no one-sided reads" in log.read_text():
                raise BenchmarkError(f"smed-sampler cannot be read one-sidedly by {provider!r} here")
            yield reads_from, reader


def measure(provider: str, servers: int, period: int, seconds: float) -> str:
    """Run both programs; one row.  Without a provider the table is pulled."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        with both(provider, servers, period, folder) as (sampler, mirror):
            time.sleep(SETTLE_SECONDS)
            before, woken_before = [Usage.of(pid) for pid in (sampler, mirror)], sleeps(sampler)
            local, seen, begun = samples(folder / "table"), samples(folder / "s0"), time.monotonic()
            time.sleep(seconds)
            taken = time.monotonic() - begun
            server_share, own_share = (
                Usage.of(pid).processor_seconds - used.processor_seconds
                for pid, used in zip((sampler, mirror), before, strict=True)
            )
            # the sampler's own turns are no wakes for a reading
            woken = sleeps(sampler) - woken_before - (samples(folder / "table") - local)
            new = (samples(folder / "s0") - seen) / taken
    readings = max(1.0, new * taken * servers)
    return (
        f"{provider or 'pull':8} {100 * server_share / taken:8.1f} % {100 * own_share / taken:8.1f} % "
        f"{max(0, woken) / readings:14.3f} {new:14.0f}"
    )


def main() -> None:
    """Print one row for each way."""
    parser = arguments(__doc__, servers=16, period_ms=1, seconds=5.0)
    parser.add_argument("--providers", default="tcp,shm")
    chosen = parser.parse_args()
    what = f"{chosen.servers} servers every {chosen.period_ms} ms"
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {what}")
    print("way         sampler     mirror    wakes/reading  samples/server/s")
    for provider in ("", *chosen.providers.split(",")):
        print(measure(provider, chosen.servers, chosen.period_ms, chosen.seconds))


if __name__ == "__main__":
    program(main)
