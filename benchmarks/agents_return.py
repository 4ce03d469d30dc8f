"""Many agents that lose their service and find it again: how soon, and what that costs the service.

So many clients keep a TLS connection each and do as ses-agent does (``ses_simulate.agents`` says how): they
tell of their open files, speak at the pace the service gives them, and after a failure wait by chance, longer
each time.  The real service is killed and started again.  Beside it stands what the model says of the same
agents with the costs that were measured, and of more of them.  The agents are those of idle nodes, since this
process could not speak for a thousand busy ones.  No number makes this fail.

    .venv/bin/python benchmarks/agents_return.py [--agents 1000] [--away 30] [--files 2] [--computed 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from ses_benchmarks.processes import Usage, free_port  # noqa: E402
from ses_service.ledger.pace import Use  # noqa: E402
from ses_simulate.agents import LONGEST_DELAY, TIME_OUT, Costs, Loss, Return, come_back, first_delay  # noqa: E402

STEADY = 10.0  # seconds in which the usual load is measured
PATIENCE = 300.0


class FailedError(Exception):
    """A request that was not answered well."""


@dataclass
class Agent:
    """One agent, which speaks for ever."""

    number: int
    port: int
    context: ssl.SSLContext
    files: list[dict[str, object]]
    found_at: float = 0.0
    told: int = 0
    failed: int = 0
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    _chance: random.Random = field(default_factory=random.Random)

    async def live(self) -> None:
        """Speak, and come back after each failure."""
        failures, pace, knows = 0, 0.0, False
        await asyncio.sleep(
            self._chance.uniform(0, self.number / 50)
        )  # this process makes the handshakes, too
        while True:
            try:
                if not knows:
                    await self._ask("GET", "/v1/storage-systems", None)
                pace = await self._speak(complete=not knows)
                if not knows:
                    self.found_at = time.monotonic()
                knows, failures = True, 0
                self.told += 1
                await asyncio.sleep(pace)
            except (OSError, TimeoutError, asyncio.IncompleteReadError, FailedError):
                self.failed += 1
                self._hang_up()
                knows = False
                bound = min(LONGEST_DELAY, first_delay(pace) * 2 ** min(failures, 16))
                failures += 1
                await asyncio.sleep(self._chance.uniform(0, bound))

    async def _speak(self, complete: bool) -> float:
        said = {
            "incarnation": f"{self.number + 1:016x}", "opened": self.files if complete else [], "ended": [],
            "complete": complete, "users": ["bench"], "in_use": False,
        }  # fmt: skip
        answer = await self._ask(
            "POST", f"/v1/nodes/n{self.number:05}/announcements", json.dumps(said).encode()
        )
        return float(json.loads(answer)["next_within_seconds"])

    async def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        async with asyncio.timeout(TIME_OUT):
            if self._streams is None:
                self._streams = await asyncio.open_connection(
                    "127.0.0.1", self.port, ssl=self.context, server_hostname="localhost"
                )
            reader, writer = self._streams
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
            if body is not None:
                head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(head.encode() + b"\r\n" + (body or b""))
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            found = await reader.readexactly(length)
        if answer[9:12] != b"200":
            raise FailedError(found)
        return found

    def _hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
        self._streams = None


class Service:
    """The service, on one port and one state directory."""

    def __init__(self, scratch: Path) -> None:
        self.port, self._scratch = free_port(), scratch
        programs = Path(sys.executable).parent
        subprocess.run([programs / "ses-service", "tls", "init", scratch / "tls", "localhost"], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        self._command = [
            programs / "ses-service", "serve", f"--listen=127.0.0.1:{self.port}", "--trust-loopback",
            f"--tls-cert={scratch}/tls/localhost.pem", f"--tls-key={scratch}/tls/localhost-key.pem",
            f"--state-dir={scratch}/state", f"--site={ROOT}/ontology/examples/union-site.ttl",
            "--log-level=error",
        ]  # fmt: skip
        self.context = ssl.create_default_context(cafile=scratch / "tls/ca.pem")
        self.start()

    def start(self) -> None:
        """Start it; it is not waited for."""
        self.process = subprocess.Popen(self._command)

    async def listens(self) -> float:
        """Return when it answers."""
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return time.monotonic()
            except OSError:
                await asyncio.sleep(0.02)


async def watch(service: Service, seconds: list[float], memory: list[float]) -> None:
    """Note the processor time of each second."""
    before = Usage.of(service.process.pid)
    while True:
        begun = time.monotonic()
        await asyncio.sleep(1)
        now = Usage.of(service.process.pid)
        seconds.append((now.processor_seconds - before.processor_seconds) / (time.monotonic() - begun))
        memory.append(now.resident_mb)
        before = now


async def measure(count: int, away: float, files: int, scratch: Path) -> tuple[Return, Costs, float]:
    """Lose the service once; what came of it, what requests cost, and how long it was away in all."""
    service = Service(scratch)
    try:
        await service.listens()
        await asyncio.sleep(3)  # what a start computes besides
        empty = Usage.of(service.process.pid)
        agents = [
            Agent(n, service.port, service.context, [opened(n, k) for k in range(files)])
            for n in range(count)
        ]
        tasks = [asyncio.create_task(one.live()) for one in agents]
        await found(agents, 0.0)
        met = Usage.of(service.process.pid)
        told = sum(one.told for one in agents)
        await asyncio.sleep(STEADY)
        steady = Usage.of(service.process.pid)
        words = sum(one.told for one in agents) - told
        used = steady.processor_seconds - met.processor_seconds
        word = used / words
        first = (met.processor_seconds - empty.processor_seconds - (told - count) * word) / count
        costs = Costs(connection=first - word, look=0.0, word=word, file=0.0,
                      memory=(steady.resident_mb - empty.resident_mb) * 1e6 / count)  # fmt: skip
        killed = time.monotonic()
        service.process.kill()
        service.process.wait()
        await asyncio.sleep(away)
        failed = sum(one.failed for one in agents)
        service.start()
        back = await service.listens()
        busy: list[float] = []
        memory: list[float] = []
        watcher = asyncio.create_task(watch(service, busy, memory))
        await found(agents, back)
        watcher.cancel()
        for task in tasks:
            task.cancel()
        times = sorted(one.found_at - back for one in agents)
        came = Return(times[count // 2], times[int(count * 0.99)], times[-1], used / STEADY, max(busy),
                      0, sum(one.failed for one in agents) - failed, max(memory))  # fmt: skip
        return came, costs, back - killed
    finally:
        service.process.kill()
        service.process.wait()


def opened(node: int, number: int) -> dict[str, object]:
    """Return an open file of a node."""
    one = node * 1000 + number + 1
    return {
        "placement_id": f"{one:016x}", "user": "bench", "application": "bench", "path": f"/srv/bench/{one}",
        "device": 7, "inode": str(one), "pid": 99,
        "restore": {"element": f"union/b{one % 8 + 1}", "booked_at": time.time(), "decided_by": "program"},
    }  # fmt: skip


async def found(agents: list[Agent], since: float) -> None:
    """Wait until every agent has found the service since then."""
    end = time.monotonic() + PATIENCE
    while (left := sum(one.found_at <= since for one in agents)) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    if left:
        raise SystemExit(f"{left} agents did not come back in {PATIENCE:.0f} s")


def say(what: str, came: Return) -> None:
    """Print one line."""
    print(
        f"{what}: back after {came.median:.1f} s (p50), {came.late:.1f} s (p99), {came.last:.1f} s (all); "
        f"{came.usual:.0%} of a CPU before, {came.busiest:.0%} in the busiest second after; "
        f"{came.failed} requests failed after; {came.memory_mb:.0f} MB",
        flush=True,
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--away", type=float, default=30)
    parser.add_argument("--files", type=int, default=2)
    parser.add_argument("--computed", type=int, default=10000)
    given = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="ses-agents-", dir="/dev/shm") as scratch:
        came, costs, away = asyncio.run(measure(given.agents, given.away, given.files, Path(scratch)))
    print(f"a return costs {1e3 * (costs.connection + costs.word):.2f} ms of CPU, any other word "
          f"{1e3 * costs.word:.2f} ms, and each {costs.memory / 1e3:.0f} kB")  # fmt: skip
    print(f"the service was away for {away:.1f} s, with its start")
    say(f"{given.agents} agents, idle, measured", came)
    for count, use in ((given.agents, Use.NONE), (given.computed, Use.NONE), (given.computed, Use.NOW)):
        what = f"{count} agents, {'idle' if use is Use.NONE else 'in use'}, computed"
        say(what, come_back(Loss(count, away, files=0, use=use), costs))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
