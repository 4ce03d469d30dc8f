"""The cost of a create whose place is chosen from the table: the decision alone, and the whole create."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ses_benchmarks.chain import Chain
from ses_benchmarks.creates import OTHER, Effort, row
from ses_benchmarks.probe import BenchmarkError, Probe, Side, compile_program
from ses_benchmarks.summary import Measurement, percentile, summarise

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "benchmarks/table_bench.c"
READER = ("backends", "choice", "log", "lustre", "request", "runtime", "segments", "settings")  # folders
TRIES = 5
TABLE_SECONDS = 30
SIZES = (8, 64)  # elements of the table


def build_table_bench(directory: Path) -> Path:
    """Compile table_bench.c with the library's own reader; raises BenchmarkError."""
    source = ROOT / "libses/src"
    flags: list[str | Path] = [
        "-D_GNU_SOURCE",
        "-fno-math-errno",
        "-I",
        source,
        "-I",
        ROOT / "libses/include",
    ]
    reader = (part for name in READER for part in sorted((source / name).glob("*.c")))
    core = sorted((ROOT / "libses/core").glob("*.c"))
    others = (ROOT / "libses/segment/segment.c", ROOT / "libses/api/loads.c")
    return compile_program(SOURCE, directory / "table_bench", *flags, *reader, *core, *others)


@contextmanager
def published(
    program: Path, site: Chain, environment: dict[str, str], branches: list[Path]
) -> Iterator[None]:
    """A table of these branches of the union, as equals; raises BenchmarkError when there can be none."""
    stage = site.fast_branch / ".ses" / str(os.geteuid())
    stage.parent.mkdir(mode=0o711, exist_ok=True)
    stage.mkdir(mode=0o700, exist_ok=True)
    serving = subprocess.Popen(
        [program, "serve", site.union, *branches],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert serving.stdin is not None
    assert serving.stdout is not None
    try:
        if serving.stdout.readline() != "ready\n":
            raise BenchmarkError("table_bench serve: no table; see what it wrote above")
        yield
    finally:
        serving.stdin.close()
        serving.wait(30)
        serving.stdout.close()


def chosen(probe: Probe, library: Path, site: Chain, effort: Effort, scratch: Path) -> Iterator[Measurement]:
    """The choice among the site's elements against one system call, and the create against the same by hand.

    By hand: what an expert would write for the same file on that branch, in any directory
    (create_loop.c, create-careful), and the fewest steps to a correct file in a plain one (create-staged).
    Both with a table of our own; and the create once more with the table of the agent of ``site``.  Raises
    BenchmarkError when creates were not placed: then something else was measured.
    """
    program = build_table_bench(scratch)
    decider = Probe(program, probe.cpu)
    for size in SIZES:
        environment = {"SES_AGENT_SOCKET": str(scratch / f"table{size}.sock")}
        with published(program, site, environment, [site.fast_branch] * size):
            sides = (
                Side("decide", site.union, environment=environment),
                Side("system-call", site.union, environment=environment),
            )
            pairs = decider.pairs(*sides, effort.calls, effort.pairs)
            yield row(f"table-choice-{size}", pairs, "one system call")
            sides = (Side("loads", site.union, environment=environment), sides[1])
            pairs = decider.pairs(*sides, effort.calls, effort.pairs)
            yield row(f"table-loads-{size}", pairs, "one system call", "all rows read by ses_loads_read()")
    environment = {"SES_AGENT_SOCKET": str(scratch / "table.sock"), "SES_SYNC_MS": "0"}
    with published(program, site, environment, [site.fast_branch]):
        yield hit_row("create-table-hit", probe, library, site, effort, environment, 1.0)
        fewest = "create-table-hit-fewest"
        yield hit_row(fewest, probe, library, site, effort, environment, 1.0, by_hand="create-staged")
    agents = {"SES_AGENT_SOCKET": str(site.socket), "SES_SYNC_MS": "0"}
    yield agents_row(probe, library, site, effort, agents)


def compared(
    probe: Probe, libraries: tuple[Path, Path], site: Chain, effort: Effort, scratch: Path
) -> Measurement:
    """A create whose place is chosen from a table by one library, in turn with another.

    Many short runs, and of each its fastest tenth, which the union's process was ready for.  Raises
    BenchmarkError when a create was not placed.
    """
    environment = {"SES_AGENT_SOCKET": str(scratch / "table.sock"), "SES_SYNC_MS": "0"}
    count = effort.slow_calls // 3
    with published(build_table_bench(scratch), site, environment, [site.fast_branch]):
        sides = [
            Side("create-absolute", site.union, library, site.fast_branch, environment)
            for library in libraries
        ]
        pairs = probe.pairs(sides[0], sides[1], count, effort.pairs * 8)
    if any(run.on_branch < count for pair in pairs for run in pair):
        raise BenchmarkError("create-table-hit: not all creates were placed")
    samples = [
        ([percentile(one.nanoseconds, 10)], [percentile(other.nanoseconds, 10)]) for one, other in pairs
    ]
    return summarise("create-table-hit", "ns", samples, baseline_is=OTHER, note="fastest tenth")


def agents_row(
    probe: Probe, library: Path, site: Chain, effort: Effort, environment: dict[str, str]
) -> Measurement:
    """Creates with the table of the agent.  Begins again, a few times, when some were not placed."""
    for left in reversed(range(TRIES)):
        await_table(probe, library, site, effort, environment)
        try:
            return hit_row("create-table-hit-agent", probe, library, site, effort, environment, 0.9)
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
    """Creates whose place is chosen from a table, in turn with the same by hand.

    Raises BenchmarkError when less than the share ``least`` was placed.
    """
    hit = Side("create-absolute", site.union, library, site.fast_branch, environment)
    pairs = probe.in_turn(hit, f"plain-{by_hand}", effort.slow_calls, effort.pairs)
    share = sum(run.on_branch for run, _ in pairs) / (effort.slow_calls * effort.pairs)
    if share < least:
        raise BenchmarkError(f"{name}: only {share:.0%} of the creates placed")
    baseline = "the same steps by hand" if by_hand == "create-careful" else "the fewest steps by hand"
    return row(name, pairs, baseline, f"{share:.1%} placed")


def await_table(
    probe: Probe, library: Path, site: Chain, effort: Effort, environment: dict[str, str]
) -> None:
    """Create until the agent's table places every file of a run; BenchmarkError when it never does."""
    hit = Side("create-absolute", site.union, library, site.fast_branch, environment)
    deadline = time.monotonic() + TABLE_SECONDS
    while probe.run(hit, effort.slow_calls).on_branch < effort.slow_calls:
        if time.monotonic() > deadline:
            raise BenchmarkError("create-table-hit-agent: the agent's table places too few; see its log")
        time.sleep(0.1)
