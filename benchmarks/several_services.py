"""What a file costs one service, and two that share a PostgreSQL database.

Nodes announce files as agents do, half of the nodes to each of two services, or all to one: twenty that were
created and the end of the twenty before, and they receive what changed in their table.  An agent announces
every 50 ms while files are created: twenty is a node that creates 400 a second (``--files`` sets another
number).  Counted is the processor time of the services and of the database for the beginning and end of a
file.  At a low rate the processors sleep, or do something else, between two announcements, and most of that
time is waiting for memory; at a high one it is the work itself.

A file may cost two services together 1.18 times as much as one: then two carry 1.7 times as many.  After
that: how soon a file announced to one counts at the other (median and worst), and how long a node waits at
most for an answer when its service is killed and it asks the other.  Services and PostgreSQL are the real
ones.  No number makes this fail.

    .venv/bin/python benchmarks/several_services.py [--rate 1000] [--files 20] [--seconds 10] [--rounds 3]
"""

from __future__ import annotations

import secrets
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import urllib3
from ses_benchmarks import stand_ins  # noqa: F401  # first: it finds the modules of the tests

# isort: split
from patience import wait_until
from postgresql_server import PostgresServer
from service_process import SITE, Running
from ses_benchmarks.announcements import decided, ended, opened
from ses_benchmarks.arguments import arguments, positive, program, whole
from ses_benchmarks.processes import Usage, children

NODES = 40
SYSTEM = "union"
ELEMENTS = ("union/b1", "union/b2", "union/b3")
SETTLE = 2.0


class Node:
    """A node whose programs create files and close them, so many before each announcement."""

    def __init__(self, number: int, files: int = 20) -> None:
        self.name = f"n{number}"
        self.files = files
        self.service: Running
        self._announcements = 0
        self._open: list[str] = []
        self._generations: dict[str, str] = {}
        self._table: dict[str, object] = {"system": SYSTEM, "revision": "", "version": 0}

    def announce(self) -> float:
        """Announce; return for how many seconds the answer was waited."""
        self._announcements += 1
        placement_ids = [secrets.token_hex(8) for _ in range(self.files)]
        message = {
            "incarnation": f"{int(self.name[1:]) + 1:016x}",
            "number": self._announcements,
            "opened": [
                opened(placement_id, ELEMENTS[number % len(ELEMENTS)], "alice", self.files)
                for number, placement_id in enumerate(placement_ids)
            ],
            "ended": ended(self._open),
            "decisions": decided(SYSTEM, ELEMENTS),
            "users": ["alice"],
            "generations": self._generations,
            "tables": [self._table],
            "busy": True,
            "in_use": True,
        }
        self._open = placement_ids
        began = time.monotonic()
        status, answer = self.service.call("POST", f"/v1/nodes/{self.name}/announcements", message)
        waited = time.monotonic() - began
        assert status == 200
        for needs in answer["needs"]:
            self._generations[needs["user"]] = needs["generation"]
        for table in answer["tables"]:
            self._table = {name: table[name] for name in self._table}
        return waited


@contextmanager
def services(count: int, server: PostgresServer, options: list[list[str]]) -> Iterator[list[Running]]:
    """Services on an empty database."""
    server.sql("drop schema public cascade", "create schema public")
    with ExitStack() as stack, tempfile.TemporaryDirectory() as scratch:
        started = []
        for number in range(count):
            folder = Path(scratch, str(number))
            folder.mkdir()
            started.append(Running(folder, "--trust-loopback", f"--site={SITE}", *options[number]))
            stack.callback(started[-1].end, signal.SIGKILL)
        for running in started:
            running.wait_ready()
        time.sleep(SETTLE)
        yield started


def used(running: list[Running], postmaster: int) -> tuple[float, float]:
    """Processor seconds of services and database until now."""
    return (
        sum(Usage.of(service.process.pid).processor_seconds for service in running),
        sum(Usage.of(pid).processor_seconds for pid in children(postmaster)),
    )


def cost(
    running: list[Running], postmaster: int, rate: float, seconds: float, files: int
) -> tuple[list[float], list[float]]:
    """Microseconds of services and database for a file, and a second at rest.

    The load is spread over the services.  What they take at rest is not counted for the files.
    """
    nodes = [Node(number, files) for number in range(NODES)]
    for number, node in enumerate(nodes):
        node.service = running[number % len(running)]
        node.announce()
    time.sleep(SETTLE)
    resting, earlier = time.monotonic(), used(running, postmaster)
    time.sleep(seconds / 2)
    begun, sent = time.monotonic(), 0
    before = used(running, postmaster)
    rest = [1e6 * (late - early) / (begun - resting) for early, late in zip(earlier, before, strict=True)]
    while sent * files < rate * seconds:
        time.sleep(max(0.0, begun + sent * files / rate - time.monotonic()))
        nodes[sent % NODES].announce()
        sent += 1
    time.sleep(SETTLE)
    after, took = used(running, postmaster), time.monotonic() - begun
    return [
        (1e6 * (late - early) - idle * took) / (sent * files)
        for early, late, idle in zip(before, after, rest, strict=True)
    ], rest


def carried(service: Running) -> int:
    """How many placements all elements carry together."""
    return sum(element["open_placements"] for element in service.call("GET", "/v1/elements")[1]["elements"])


def ages(running: list[Running], times: int) -> list[float]:
    """Seconds after which what is announced to the first counts at the second."""
    node, waits = Node(NODES), []
    node.service = running[0]
    node.announce()
    for _ in range(times):
        wait_until(lambda: carried(running[1]) == carried(running[0]))
        before, node._open = carried(running[1]), []
        node.announce()
        begun = time.monotonic()
        wait_until(lambda before=before: carried(running[1]) >= before + node.files)
        waits.append(time.monotonic() - begun)
    return waits


def longest_wait(running: list[Running]) -> float:
    """Seconds a node waits at most for an answer while the service it asks is killed."""
    nodes, waits = [Node(NODES + 1 + number) for number in range(4)], []
    for node in nodes:
        node.service = running[0]
    for round_ in range(40):
        if round_ == 20:
            running[0].process.kill()
        for node in nodes:
            began = time.monotonic()
            try:
                node.announce()
            except urllib3.exceptions.HTTPError:
                node.service = running[1]
                node.announce()
            waits.append(time.monotonic() - began)
    return max(waits)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, seconds=10.0, rounds=3)
    parser.add_argument("--rate", type=positive, default=1000, help="files a second of all nodes together")
    parser.add_argument("--files", type=whole(1), default=20, help="files of an announcement")
    given = parser.parse_args()
    server = PostgresServer()
    ratios: list[tuple[float, float]] = []
    try:
        server.start()
        postmaster = int((server._base / "data/postmaster.pid").read_text().splitlines()[0])
        options = [[f"--database-url={server.url}"]] * 2
        for _ in range(given.rounds):
            of_count = {}
            for count in (1, 2):
                with services(count, server, options) as running:
                    cpu, rest = cost(running, postmaster, given.rate, given.seconds, given.files)
                    of_count[count] = cpu
                    print(
                        f"{count} service{'s' * (count > 1)}: us of CPU a file: services {cpu[0]:.0f}, "
                        f"database {cpu[1]:.0f}, together {sum(cpu):.0f}; "
                        f"at rest {sum(rest) / 1e4:.1f} % of a processor",
                        flush=True,
                    )
            ratios.append((of_count[2][0] / of_count[1][0], sum(of_count[2]) / sum(of_count[1])))
        alone, both = (statistics.median(ratio) for ratio in zip(*ratios, strict=True))
        print(f"two against one (median of {given.rounds}): services {alone:.2f}, together {both:.2f}")
        print(f"two services carry {2 / alone:.2f} times as many files as one")
        with services(2, server, options) as running:
            delays = ages(running, 20)
            median, worst = statistics.median(delays), max(delays)
            print(f"delay to the other service: median {median:.3f} s, worst {worst:.3f} s")
            print(f"longest wait while a service is killed: {longest_wait(running):.3f} s")
    finally:
        server.remove()


if __name__ == "__main__":
    program(main)
