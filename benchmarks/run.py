"""Measure what the library costs a program and what a decision costs the service.

Everything is a ratio of two things measured in turn in the same run; the table and bench.json say of
what.  Takes about three minutes, --long two more; --quick checks in seconds that everything can be
measured, and its numbers mean nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ses_benchmarks import (
    core,
    creates,
    crowds,
    first_start,
    node_selections,
    pages,
    report,
    selections,
    site_description,
    tables,
)
from ses_benchmarks.arguments import arguments, program
from ses_benchmarks.chain import chain
from ses_benchmarks.creates import Effort
from ses_benchmarks.probe import BenchmarkError, Probe, build_probe
from ses_benchmarks.site_description import NodeFacts
from ses_benchmarks.site_service import Served, monitor, service
from ses_benchmarks.summary import Measurement
from ses_client.errors import SesError

ROOT = Path(__file__).resolve().parents[1]
SELECTION_SIZES = (24, 1000, 10000)
USUAL_SIZE = 1000  # more elements than most sites have


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything."""

    creates: Effort
    selection_rounds: int
    selection_calls: int
    largest_site: int  # elements; a row about more is measured on this many, and says so
    deciders: int
    rates: tuple[float, ...]  # questions a second of all deciders together
    pressing: tuple[int, ...]  # connections of one user that asks without pause
    claims: float  # announcements of files a second of all nodes together
    words: float  # a second of nodes that only receive what is new
    sampled: float  # questions a second beside samples of all elements
    agents: int
    polls: float  # announcements a second of all agents together, at the pace the contract gives
    crowd_seconds: float
    starts: int
    files: int  # of the past, on the pages of the portal
    page_rounds: int

    def elements(self, size: int) -> tuple[int, str]:
        """How many elements a row about ``size`` has, and what is to be said of that."""
        count = min(size, self.largest_site)
        return count, f"only {count} elements" if count < size else ""


FULL = Plan(
    Effort(pairs=7, calls=3000, slow_calls=450, storms=1500),
    selection_rounds=5,
    selection_calls=40,
    largest_site=max(SELECTION_SIZES),
    deciders=1000,
    rates=(250, 500, 1000, 2000, 4000),
    pressing=(16, 64, 256, 1000),
    claims=200,
    words=2000,
    sampled=500,
    agents=10000,
    polls=200,
    crowd_seconds=4,
    starts=3,
    files=1_000_000,
    page_rounds=15,
)
LONG = replace(FULL, crowd_seconds=20)
QUICK = Plan(
    Effort(pairs=2, calls=50, slow_calls=20, storms=20),
    selection_rounds=2,
    selection_calls=2,
    largest_site=100,
    deciders=20,
    rates=(50, 100),
    pressing=(4,),
    claims=20,
    words=50,
    sampled=50,
    agents=20,
    polls=20,
    crowd_seconds=0.5,
    starts=1,
    files=1000,
    page_rounds=1,
)


def measure_creates(plan: Plan, build: Path, programs: Path, scratch: Path) -> Generator[Measurement]:
    """Every row about the preload library."""
    probe = Probe(build_probe(scratch), max(os.sched_getaffinity(0)))
    library, agent = build / "libses-wrapper.so", build / "agent/ses-agent"
    if missing := [path for path in (library, agent) if not path.exists()]:
        raise BenchmarkError(f"{missing[0]} does not exist: run `make native` first")
    off_policy = scratch / "elsewhere"
    off_policy.mkdir()
    with chain(agent, programs, scratch) as site:
        yield from creates.passed_on(probe, library, off_policy, site.socket, plan.creates)
        yield creates.storm(probe, library, off_policy, site.socket, plan.creates)
        yield creates.exec_true(probe, library, off_policy, plan.creates)
        yield creates.hung(probe, library, site.union, scratch, plan.creates)
        yield from creates.placed(probe, library, site, plan.creates)
        yield from tables.chosen(probe, library, site, plan.creates, scratch)


def compare_libraries(plan: Plan, build: Path, other: Path, scratch: Path) -> Generator[Measurement]:
    """The rows about the library of a build against the library of another one."""
    probe = Probe(build_probe(scratch), max(os.sched_getaffinity(0)))
    libraries = build / "libses-wrapper.so", other / "libses-wrapper.so"
    off_policy = scratch / "elsewhere"
    off_policy.mkdir()
    with chain(build / "agent/ses-agent", Path(sys.executable).parent, scratch) as site:
        yield from creates.compared(probe, libraries, off_policy, site.socket, plan.creates)
        yield tables.compared(probe, libraries, site, plan.creates, scratch)


def measure_selections(plan: Plan, programs: Path, scratch: Path) -> Generator[Measurement]:
    """Every row about the service."""
    for size in SELECTION_SIZES:
        with served_site(plan, programs, scratch / f"selection-{size}", size) as (served, note):
            yield selections.measure(
                f"selection-{size}", served.port, plan.selection_rounds, plan.selection_calls, note
            )
            if size == USUAL_SIZE:
                among = f"-among-{size}"
                yield from crowds.deciders(served, plan.deciders, plan.rates, plan.crowd_seconds, note, among)
            if size == max(SELECTION_SIZES):
                yield from measure_crowds(plan, served, note)
    yield from measure_nodes(plan, programs, scratch)
    yield measure_samples(plan, programs, scratch)
    count, note = plan.elements(max(SELECTION_SIZES))
    yield first_start.measure("first-start-10000", programs, scratch, count, plan.starts, note)


@contextmanager
def served_site(
    plan: Plan,
    programs: Path,
    directory: Path,
    size: int,
    classes: Sequence[NodeFacts] = (),
    **more: int,
) -> Iterator[tuple[Served, str]]:
    """A service that knows ``size`` elements, and the note about their number."""
    directory.mkdir(exist_ok=True)
    count, note = plan.elements(size)
    turtle = site_description.describe("bench", "/srv/bench", selections.elements(count), classes)
    with service(programs, directory, turtle, count, **more) as served:
        yield served, note


def measure_nodes(plan: Plan, programs: Path, scratch: Path) -> Generator[Measurement]:
    """The rows about choosing nodes."""
    most = max(SELECTION_SIZES)
    count, _ = plan.elements(most)
    classes = node_selections.classes(count)
    with served_site(plan, programs, scratch / "nodes", most, classes) as (served, note):
        node_selections.open_files(served, count, count)
        note += " and nodes" if note else ""
        yield from node_selections.measure(served, plan.selection_rounds, plan.selection_calls, note)


def measure_samples(plan: Plan, programs: Path, scratch: Path) -> Measurement:
    """The row about a monitor with samples of all elements."""
    directory, most = scratch / "samples", max(SELECTION_SIZES)
    directory.mkdir()
    with (
        monitor(directory, plan.elements(most)[0]) as port,
        served_site(plan, programs, directory, most, monitor_port=port) as (served, note),
    ):
        (row,) = crowds.deciders(served, plan.deciders, (plan.sampled,), plan.crowd_seconds, note)
    return replace(row, name="selection-beside-samples")


def measure_crowds(plan: Plan, served: Served, note: str) -> Generator[Measurement]:
    """Every row about many who ask at once."""
    yield from crowds.deciders(served, plan.deciders, plan.rates, plan.crowd_seconds, note)
    yield from crowds.pressing(served, plan.pressing, plan.crowd_seconds, note)
    yield from crowds.agents(served, plan.agents, plan.polls, plan.crowd_seconds, note)
    yield crowds.claims(served, plan.deciders, plan.claims, plan.crowd_seconds, note)
    yield crowds.listeners(served, min(200, plan.deciders), plan.words, plan.crowd_seconds, note)


def asked() -> argparse.Namespace:
    """The command line."""
    parser = arguments(__doc__, build=True)
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench.json", help="file for the results")
    parser.add_argument(
        "--scratch", type=Path, default=Path("/dev/shm"), help="directory to work in, on tmpfs (%(default)s)"
    )
    parts = ("core", "creates", "selections", "pages")
    parser.add_argument("--only", choices=parts, help="measure only this part")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="BUILD",
        help="compare the library with that of another build, and no more",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="a handful of calls each: proves that it runs")
    length.add_argument("--long", action="store_true", help="crowds for 20 s at each rate")
    return parser.parse_args()


def main() -> int:
    """Measure, print, write; 1 when something could not be measured."""
    chosen = asked()
    plan = QUICK if chosen.quick else LONG if chosen.long else FULL
    programs = Path(sys.executable).parent
    build = chosen.build.resolve()
    measured: list[Measurement] = []
    failures: list[str] = []
    print(report.machine_line(), flush=True)
    with tempfile.TemporaryDirectory(prefix="ses-bench-", dir=chosen.scratch) as name:
        scratch = Path(name)
        parts = {
            "core": core.choices(build, plan.creates.pairs, plan.creates.calls, scratch),
            "creates": measure_creates(plan, build, programs, scratch),
            "selections": measure_selections(plan, programs, scratch),
            "against": compare_libraries(plan, build, chosen.against or build, scratch),
            "pages": pages.measure(programs, scratch, plan.largest_site, plan.files, plan.page_rounds),
        }
        for part, started in parts.items():
            if chosen.only not in (None, part) or (chosen.against is None) == (part == "against"):
                continue
            with closing(started) as rows:
                try:
                    for row in rows:
                        print(f"  {row.name}: {row.ratio:.2f}", file=sys.stderr, flush=True)
                        measured.append(row)
                except (BenchmarkError, SesError, OSError, subprocess.SubprocessError) as error:
                    failures.append(f"{part}: not all measured: {error}")
    report.show(measured)
    print(report.machine_line())
    report.write_json(chosen.output, measured)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    program(main)
