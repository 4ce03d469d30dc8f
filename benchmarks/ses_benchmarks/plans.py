"""The cost of a create that takes its place out of the plan: the decision alone, and the whole create."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ses_benchmarks.chain import Chain
from ses_benchmarks.creates import Effort, row
from ses_benchmarks.probe import BenchmarkError, Probe, Side
from ses_benchmarks.summary import Measurement

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "benchmarks/plan_bench.c"
READER: tuple[str, ...] = (
    "answer",
    "backend",
    "backend_lustre",
    "backend_mergerfs",
    "lustre_default",
    "lustre_layout",
)
READER += ("log", "no_creator", "path", "plan", "plan_segment", "require", "self", "settings")
COMPILE_SECONDS = 60
TRIES = 5
TICKETS_SECONDS = 30


def build_plan_bench(directory: Path) -> Path:
    """Compile plan_bench.c with the library's own reader; raises BenchmarkError with the compiler's words."""
    program, source = directory / "plan_bench", ROOT / "libses/src"
    command: list[str | Path] = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall"]
    command += ["-Wextra", "-I", source, "-I", ROOT / "libses/include", SOURCE]
    command += [*(source / f"{name}.c" for name in READER), "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    if done.returncode != 0:
        raise BenchmarkError(f"plan_bench.c does not compile: {done.stderr}")
    return program


@contextmanager
def published(program: Path, site: Chain, environment: dict[str, str]) -> Iterator[None]:
    """A plan whose every ticket is on the fast branch; raises BenchmarkError when there can be none."""
    user = str(os.geteuid())
    stage = site.fast_branch / ".ses" / user
    stage.parent.mkdir(mode=0o711, exist_ok=True)
    stage.mkdir(mode=0o700, exist_ok=True)
    serving = subprocess.Popen(
        [program, "serve", site.union, stage, site.union / ".ses" / user],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert serving.stdin is not None
    assert serving.stdout is not None
    try:
        if serving.stdout.readline() != "ready\n":
            raise BenchmarkError("plan_bench serve: no plan; see what it wrote above")
        yield
    finally:
        serving.stdin.close()
        serving.wait(30)
        serving.stdout.close()


def planned(probe: Probe, library: Path, site: Chain, effort: Effort, scratch: Path) -> Iterator[Measurement]:
    """The decision on a hit against one system call, and the create on a hit against the same by hand.

    By hand: what an expert would write for the same file on that branch, in any directory
    (create_loop.c, create-careful), and the fewest steps to a correct file in a plain one (create-staged).
    Both with a plan of our own, whose tickets never end; and the create once more with tickets that the
    agent of ``site`` deals.  Raises BenchmarkError when creates were not placed: then something else
    was measured.
    """
    program = build_plan_bench(scratch)
    environment = {"SES_AGENT_SOCKET": str(scratch / "plan.sock"), "SES_SYNC_MS": "0"}
    with published(program, site, environment):
        decider = Probe(program, probe.cpu)
        sides = (
            Side("decide", site.union, environment=environment),
            Side("system-call", site.union, environment=environment),
        )
        yield row("plan-decision", decider.pairs(*sides, effort.calls, effort.pairs), "one system call")
        yield hit_row("create-plan-hit", probe, library, site, effort, environment, 1.0)
        yield hit_row(
            "create-plan-hit-fewest",
            probe,
            library,
            site,
            effort,
            environment,
            1.0,
            by_hand="create-staged",
        )
    dealt = {"SES_AGENT_SOCKET": str(site.socket), "SES_SYNC_MS": "0"}
    yield dealt_row(probe, library, site, effort, dealt)


def dealt_row(
    probe: Probe, library: Path, site: Chain, effort: Effort, environment: dict[str, str]
) -> Measurement:
    """Creates on tickets of the agent.  Begins again, a few times, when it ran out of them on the way."""
    for left in reversed(range(TRIES)):
        await_tickets(probe, library, site, effort, environment)
        try:
            return hit_row("create-plan-hit-agent", probe, library, site, effort, environment, 0.9)
        except BenchmarkError:
            if not left:
                raise
    raise AssertionError("TRIES is positive")


def hit_row(
    name: str,
    probe: Probe,
    library: Path,
    site: Chain,
    effort: Effort,
    environment: dict[str, str],
    least: float,
    by_hand: str = "create-careful",
) -> Measurement:
    """Creates that take a ticket, in turn with the same by hand.

    Raises BenchmarkError when less than the share ``least`` was placed.
    """
    hit = Side("create-absolute", site.union, library, site.fast_branch, environment)
    pairs = probe.in_turn(hit, f"plain-{by_hand}", effort.slow_calls, effort.pairs)
    share = sum(run.on_branch for run, _ in pairs) / (effort.slow_calls * effort.pairs)
    if share < least:
        raise BenchmarkError(f"{name}: only {share:.0%} of the creates placed")
    baseline = "the same steps by hand" if by_hand == "create-careful" else "the fewest steps by hand"
    return row(name, pairs, baseline, f"{share:.1%} placed")


def await_tickets(
    probe: Probe, library: Path, site: Chain, effort: Effort, environment: dict[str, str]
) -> None:
    """Create until the agent deals as many tickets as a run takes; BenchmarkError when it never does."""
    hit = Side("create-absolute", site.union, library, site.fast_branch, environment)
    deadline = time.monotonic() + TICKETS_SECONDS
    while probe.run(hit, effort.slow_calls).on_branch < effort.slow_calls:
        if time.monotonic() > deadline:
            raise BenchmarkError("create-plan-hit-agent: the agent deals too few tickets; see its log")
        time.sleep(0.1)
