"""What a person and a file get to see: the table, the line about the machine, ``bench.json``."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ses.output import console, table

from ses_benchmarks.summary import Measurement

HEADINGS = ("name", ">value", ">baseline", ">ratio", ">(pairs)", ">p99", "baseline is")


def number(value: float) -> str:
    """Three significant digits at least, without an exponent: 0.412, 41.2, 4120."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def show(measurements: Sequence[Measurement]) -> None:
    """Print the measurements as a table, one line each."""
    rows = [
        (
            row.name,
            f"{number(row.value)} {row.unit}",
            f"{number(row.baseline)} {row.unit}",
            f"{row.ratio:.2f}",
            f"({row.ratio_low:.2f}-{row.ratio_high:.2f})",
            f"{number(row.p99)} {row.unit}",
            row.baseline_is + (f"; {row.note}" if row.note else ""),
        )
        for row in measurements
    ]
    table(console(wide=True), HEADINGS, rows)


def processor() -> str:
    """The processor's name as Linux gives it, else its architecture."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def machine_line() -> str:
    """On what, and under what load, the numbers were taken."""
    loads = " ".join(f"{load:.2f}" for load in os.getloadavg())
    cpus = len(os.sched_getaffinity(0))
    today = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{processor()}, {cpus} CPUs, Linux {platform.release()}, {today}, load {loads}"


def write_json(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write the list of objects to ``path``, whose directory is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([row.to_json() for row in measurements], indent=2) + "\n")
