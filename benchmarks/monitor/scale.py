"""What the monitor costs: processor time and memory for 24, 1,000 and 10,000 elements, each second.

One process answers real HTTP for every target with pages as node_exporter writes them, their counters
moving; the monitor runs as its command does; one reader follows it, asking for changes.  Processor time
is user and system time of the monitor's processes, by the kernel's account, so that what else runs on the
machine changes it little.  "taken to delivered" is the age of each sample when the reader has its answer.

    .venv/bin/python benchmarks/monitor/scale.py [--seconds 30] [--elements 24 1000 10000]
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

sys.path.append(str(Path(__file__).resolve().parents[1]))

# isort: split
from ses_benchmarks.arguments import arguments, program, whole
from ses_benchmarks.processes import Usage

PER_TARGET = 20
DISK = [
    "io_now",
    "io_time_weighted_seconds_total",
    "read_bytes_total",
    "read_time_seconds_total",
    "reads_completed_total",
    "reads_merged_total",
    "write_time_seconds_total",
    "writes_completed_total",
    "written_bytes_total",
]
SPACE = ["avail_bytes", "device_error", "free_bytes", "readonly", "size_bytes"]
COMMAND = Path(sys.executable).with_name("smed-monitor")


def page(elements: int, tick: int) -> bytes:
    """node_exporter's page of one target after ``tick`` seconds."""
    lines = []
    for name in DISK:
        lines += [f'node_disk_{name}{{device="sd{n}"}} {tick * 1e6 + n}' for n in range(elements)]
    for name in SPACE:
        value = 1e12 if name.endswith("bytes") else 0
        lines += [
            f'node_filesystem_{name}{{device="/dev/sd{n}",fstype="xfs",mountpoint="/e/{n}"}} {value}'
            for n in range(elements)
        ]
    return ("\n".join(lines) + "\n").encode()


def exporters(per_target: int, sender: multiprocessing.connection.Connection) -> None:
    """Answer every request on one port; the path says which target is meant, and does not matter."""
    bodies = [page(per_target, tick) for tick in range(60)]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                body = bodies[int(time.monotonic()) % len(bodies)]
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
        sender.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def settings(port: int, elements: int) -> tuple[str, int]:
    """A settings file for ``elements``, and how many targets it has."""
    per_target = min(PER_TARGET, elements)
    targets = -(-elements // per_target)
    text = ["concurrent_scrapes = 16\n"]
    for t in range(targets):
        text.append(
            f'[[target]]\nname = "n{t}"\ncollector = "node_exporter"\n'
            f'url = "http://127.0.0.1:{port}/{t}/metrics"\n'
        )
    for e in range(elements):
        t, n = divmod(e, per_target)
        text.append(f'[[element]]\nid = "site/e{e}"\ntarget = "n{t}"\nmount_point = "/e/{n}"\n')
    return "".join(text), targets


@dataclass
class Seen:
    """What the reader got: ages of samples in milliseconds, and the last sequence."""

    ages: list[float] = field(default_factory=list)
    sequence: int | None = None


def follow(url: str, seen: Seen, over: threading.Event) -> None:
    """Read changes as the service does, over one connection; note how old each sample is on arrival.

    The monitor says how old a sample was when it answered; what passes from there to the reader is added
    by the clock both share.
    """
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    while not over.is_set():
        question = "" if seen.sequence is None else f"?wait=2&changes=true&after={seen.sequence}"
        connection.request("GET", f"/v1/observations{question}")
        body = connection.getresponse().read()
        arrived = time.time()
        answer = json.loads(body)
        seen.sequence = answer["sequence"]
        if not answer["complete"]:
            moments = [o["sampled_at"] for o in answer["observations"]]
            seen.ages += [(arrived - moment) * 1000 for moment in moments if moment is not None]
    connection.close()


def measure(elements: int, seconds: float) -> str:
    """One row of the table."""
    mine, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=exporters, args=(min(PER_TARGET, elements), theirs), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        text, targets = settings(mine.recv(), elements)
        config = Path(folder) / "smed.toml"
        config.write_text(text)
        monitor = subprocess.Popen(
            [COMMAND, "serve", "--config", config, "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert monitor.stderr is not None
        over = threading.Event()
        try:
            match = re.search(r'"url": "([^"]+)"', monitor.stderr.readline())
            assert match is not None, "the monitor did not start"
            url = match[1]
            threading.Thread(target=list, args=(monitor.stderr,), daemon=True).start()
            seen = Seen()
            threading.Thread(target=follow, args=(url, seen, over), daemon=True).start()
            time.sleep(5)
            seen.ages.clear()
            first, before, start = seen.sequence or 0, Usage.of(monitor.pid), time.monotonic()
            time.sleep(seconds)
            passed = time.monotonic() - start
            used = Usage.of(monitor.pid)
            memory = used.resident_mb * 1e6 / 2**20
            cores = (used.processor_seconds - before.processor_seconds) / passed
            scrapes = ((seen.sequence or 0) - first) / passed
            with urllib.request.urlopen(f"{url}/v1/observations", timeout=10) as reply:
                states = [each["state"] for each in json.load(reply)["observations"]]
            late = statistics.quantiles(seen.ages, n=100)
        finally:
            over.set()
            monitor.send_signal(signal.SIGTERM)
            monitor.wait(30)
            server.terminate()
            server.join()
    return (
        f"{elements:8} {targets:8} {scrapes:9.0f} {cores * 100:8.1f} % {cores * 1000 / scrapes:9.2f} ms "
        f"{memory:8.0f} MiB {late[49]:8.1f} ms {late[98]:8.1f} ms {states.count('ok'):8} ok"
    )


def main() -> None:
    """Print one row for each size."""
    parser = arguments(__doc__, seconds=30.0)
    parser.add_argument("--elements", type=whole(1), nargs="+", default=[24, 1000, 10000])
    chosen = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("elements  targets  scrapes/s  one core  each scrape    memory  taken to delivered: p50, p99")
    for elements in chosen.elements:
        print(measure(elements, chosen.seconds), flush=True)


if __name__ == "__main__":
    program(main)
