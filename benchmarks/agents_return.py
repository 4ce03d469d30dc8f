"""Many agents that lose their service and find it again: how soon, and what that costs the service.

First it is measured what each request of an agent costs the service.  Then as many clients do as ses-agent
does (``ses_simulate.agents`` says how): two TLS connections each, open files, the pace the service gives
them, and after a failure a wait by chance, longer each time.  The real service is killed and started again.
Beside it stands what the model says of the same agents with the costs measured, and of more of them.
``--idle``: nothing runs on the nodes; else all of them place files, which is the most they ask.  ``--costs``:
measures what requests cost, and no more.  No number makes this fail.

    .venv/bin/python benchmarks/agents_return.py [--agents 1000] [--away 30] [--files 2] [--computed 10000]
        [--idle] [--costs]
"""

from __future__ import annotations

import asyncio
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop
from ses.demo.processes import free_port
from ses_benchmarks.agent_costs import costs_of
from ses_benchmarks.agent_crowd import Agent, Crowd
from ses_benchmarks.announcements import ELEMENTS, SYSTEM
from ses_benchmarks.arguments import arguments, program, whole
from ses_benchmarks.processes import Usage, processor_seconds
from ses_benchmarks.site_description import Facts, describe
from ses_benchmarks.site_service import serve
from ses_service.ledger.pace import Use
from ses_simulate.agents import Costs, Loss, Return, come_back

STEADY = 10.0  # seconds in which the usual load is measured
SETTLES = 4.0  # seconds after which all agents have the pace of their number
BEGIN_EACH_SECOND = 100  # this process makes the handshakes, too
PATIENCE = 300.0


class Service:
    """The service, on one port and one state directory."""

    def __init__(self, scratch: Path) -> None:
        self.port = free_port()
        programs = Path(sys.executable).parent
        subprocess.run([programs / "ses-service", "tls", "init", scratch / "tls", "localhost"], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        site = scratch / "site.ttl"
        elements = [Facts(f"e{number}", f"/srv/e{number}", 2e8, 2e8, 1e12) for number in range(ELEMENTS)]
        site.write_text(describe(SYSTEM, "/srv/bench", elements))
        tls = (f"--tls-cert={scratch}/tls/localhost.pem", f"--tls-key={scratch}/tls/localhost-key.pem")
        further = (*tls, f"--site={site}", "--log-level=error")
        self._command = serve(programs, self.port, scratch / "state", *further)
        self.context = ssl.create_default_context(cafile=scratch / "tls/ca.pem")
        self.start()

    def start(self) -> None:
        """Start it; it is not waited for."""
        self.process = subprocess.Popen(self._command)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    async def listens(self) -> float:
        """Return when it answers."""
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return time.monotonic()
            except OSError:
                await asyncio.sleep(0.02)


@contextmanager
def service(scratch: Path) -> Iterator[Service]:
    """A service of its own, as long as the block runs."""
    scratch.mkdir()
    running = Service(scratch)
    try:
        yield running
    finally:
        running.kill()


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of it, the part of a processor that writer and store took, and how long it was away."""

    came: Return
    others: float
    away: float


async def costs_measured(count: int, scratch: Path) -> Costs:
    """Measure what requests cost."""
    with service(scratch) as running:
        await running.listens()
        await asyncio.sleep(SETTLES)  # what a start computes besides
        return await costs_of(running.port, running.context, running.process.pid, count)


async def measure(loss: Loss, scratch: Path) -> Measured:
    """Lose the service once."""
    with service(scratch) as running:
        await running.listens()
        crowd = Crowd(running.port, running.context, loss.files, loss.use is Use.NOW)
        agents = [Agent(crowd, number) for number in range(loss.agents)]
        tasks = [asyncio.create_task(agent.live(agent.number / BEGIN_EACH_SECOND)) for agent in agents]
        await wait_for_agents(agents, 0.0)
        await asyncio.sleep(SETTLES)
        sent_before, before = crowd.answers, Usage.of(running.process.pid)
        all_before = processor_seconds(running.process.pid)
        await asyncio.sleep(STEADY)
        used = Usage.of(running.process.pid).processor_seconds - before.processor_seconds
        others = processor_seconds(running.process.pid) - all_before - used
        print(
            f"{(crowd.answers - sent_before) / STEADY:.0f} announcements a second before the loss", flush=True
        )
        killed = time.monotonic()
        running.kill()
        await asyncio.sleep(loss.away)
        failed = crowd.failed
        running.start()
        back = await running.listens()
        busy: list[float] = []
        memory: list[float] = []
        watcher = asyncio.create_task(watch(running, busy, memory))
        await wait_for_agents(agents, back)
        watcher.cancel()
        for task in tasks:
            task.cancel()
        times = sorted(agent.found_at - back for agent in agents)
        came = Return(times[len(times) // 2], times[int(len(times) * 0.99)], times[-1], used / STEADY,
                      max(busy), 0, crowd.failed - failed, max(memory))  # fmt: skip
        return Measured(came, others / STEADY, back - killed)


async def watch(running: Service, busy: list[float], memory: list[float]) -> None:
    """Note the processor time of each second."""
    before = Usage.of(running.process.pid)
    while True:
        begun = time.monotonic()
        await asyncio.sleep(1)
        now = Usage.of(running.process.pid)
        busy.append((now.processor_seconds - before.processor_seconds) / (time.monotonic() - begun))
        memory.append(now.resident_mb)
        before = now


async def wait_for_agents(agents: list[Agent], since: float) -> None:
    """Wait until every agent has reported everything to the service since then."""
    end = time.monotonic() + PATIENCE
    while (left := sum(agent.found_at <= since for agent in agents)) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    if left:
        raise SystemExit(f"{left} agents did not come back in {PATIENCE:.0f} s")


def say_costs(costs: Costs) -> None:
    """Print what was measured, as ``ses_simulate.agents.Costs`` has it."""
    print(
        f"us of CPU of the service: a connection {1e6 * costs.connection:.0f}, "
        f"a look at the storage systems {1e6 * costs.look:.0f}, a word {1e6 * costs.word:.0f}, "
        f"a file that it knows {1e6 * costs.file:.0f}; "
        f"{costs.idle:.1%} of a CPU while nobody speaks; {costs.memory / 1e3:.0f} kB an agent",
        flush=True,
    )


def say(what: str, came: Return) -> None:
    """Print one line."""
    print(
        f"{what}: back after {came.median:.1f} s (p50), {came.late:.1f} s (p99), {came.last:.1f} s (all); "
        f"{came.usual:.0%} of a CPU before, {came.busiest:.0%} in the busiest second after; "
        f"{came.failed} requests failed after; {came.memory_mb:.0f} MB",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, agents=1000, away=30.0, computed=10000)
    parser.add_argument("--files", type=whole(0), default=2)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--costs", action="store_true")
    given = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    use, kind = (Use.NONE, "idle") if given.idle else (Use.NOW, "in use")
    with tempfile.TemporaryDirectory(prefix="ses-agents-", dir="/dev/shm") as scratch:
        costs = uvloop.run(costs_measured(given.agents, Path(scratch) / "costs"))
        say_costs(costs)
        if given.costs:
            return
        loss = Loss(given.agents, given.away, files=given.files, use=use)
        measured = uvloop.run(measure(loss, Path(scratch) / "lost"))
    print(f"the service was away for {measured.away:.1f} s, with its start; "
          f"its writer and store took {measured.others:.0%} of a CPU before")  # fmt: skip
    say(f"{given.agents} agents, {kind}, measured", measured.came)
    for count, which in ((given.agents, use), (given.computed, Use.NONE), (given.computed, Use.NOW)):
        what = f"{count} agents, {'idle' if which is Use.NONE else 'in use'}, computed"
        say(what, come_back(Loss(count, measured.away, files=given.files, use=which), costs))


if __name__ == "__main__":
    program(main)
