"""Measure what the library costs a program and what a decision costs the service.

Everything is a ratio of two things measured in turn in the same run; the table and bench.json say of
what.  Takes about two minutes; --quick checks in seconds that everything can be measured, and its
numbers mean nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ses_benchmarks import creates, report, selections, site_description
from ses_benchmarks.chain import chain
from ses_benchmarks.creates import Effort
from ses_benchmarks.probe import BenchmarkError, Probe, build_probe
from ses_benchmarks.summary import Measurement

ROOT = Path(__file__).resolve().parents[1]
SELECTION_SIZES = (24, 1000, 10000)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything."""

    creates: Effort
    selection_rounds: int
    selection_calls: dict[int, int]  # by number of elements


FULL = Plan(Effort(pairs=7, calls=3000, slow_calls=200), 5, {24: 60, 1000: 40, 10000: 20})
QUICK = Plan(Effort(pairs=2, calls=50, slow_calls=20), 2, dict.fromkeys(SELECTION_SIZES, 2))


def measure_creates(plan: Plan, build: Path, service: Path, scratch: Path) -> Iterator[Measurement]:
    """Every row about the preload library."""
    probe = Probe(build_probe(scratch), max(os.sched_getaffinity(0)))
    library = build / "libses-wrapper.so"
    off_policy = scratch / "elsewhere"
    off_policy.mkdir()
    with chain(build / "agent/ses-agent", service, scratch) as site:
        yield from creates.passed_on(probe, library, off_policy, site.socket, plan.creates)
        yield creates.exec_true(probe, library, off_policy, plan.creates)
        yield from creates.placed(probe, library, site, plan.creates)


def measure_selections(plan: Plan, service: Path, scratch: Path) -> Iterator[Measurement]:
    """Every row about the service."""
    for count in SELECTION_SIZES:
        directory = scratch / f"selection-{count}"
        directory.mkdir()
        facts = selections.elements(count)
        turtle = site_description.describe("bench", "/srv/bench", facts)
        with selections.service(service, directory, turtle, count) as port:
            yield selections.measure(port, count, plan.selection_rounds, plan.selection_calls[count])


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench.json", help="file for the results")
    parser.add_argument("--build", type=Path, default=ROOT / "build/libses", help="where libses was built")
    parser.add_argument("--only", choices=("creates", "selections"), help="measure only this half")
    parser.add_argument("--quick", action="store_true", help="a handful of calls each: proves that it runs")
    return parser.parse_args()


def main() -> int:
    """Measure, print, write; 1 when something could not be measured."""
    chosen = arguments()
    plan = QUICK if chosen.quick else FULL
    service = Path(sys.executable).with_name("ses-service")
    measured: list[Measurement] = []
    failures: list[str] = []
    print(report.machine_line(), flush=True)
    with tempfile.TemporaryDirectory(prefix="ses-bench-", dir="/dev/shm") as name:
        scratch = Path(name)
        halves = {
            "creates": measure_creates(plan, chosen.build.resolve(), service, scratch),
            "selections": measure_selections(plan, service, scratch),
        }
        for half, rows in halves.items():
            if chosen.only not in (None, half):
                continue
            try:
                for row in rows:
                    print(f"  {row.name}: {row.ratio:.2f}", file=sys.stderr, flush=True)
                    measured.append(row)
            except (BenchmarkError, OSError) as error:
                failures.append(f"{half}: not all measured: {error}")
    report.write_json(chosen.output, measured)
    print(report.table(measured))
    print(report.machine_line())
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
