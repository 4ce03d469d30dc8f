"""What a put and a get of libses-share take, by size and coherence model, beside a Unix socket pair.

All are measured in one run, in turn; the socket pair carries the same bytes through the kernel, written and
read by one process.  With --node the values lie on another node, where ses-share-agent listens.  No number
makes this fail.

    .venv/bin/python benchmarks/share_values.py [--build build/libses] [--node HOST:PORT]
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ses_benchmarks.arguments import arguments, program
from ses_benchmarks.probe import compile_program

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("read-put", "read-get", "busy-get", "write-put", "strict-put", "strict-get", "socket-pair")


def measured(build: Path, node: str | None) -> dict[tuple[int, str], float]:
    """Nanoseconds of a call, by size and what is called; the least where it was measured several times."""
    with tempfile.TemporaryDirectory() as scratch:
        library = (
            "-I",
            ROOT / "libses/extras/include",
            "-L",
            build,
            "-lses-share",
            f"-Wl,-rpath,{build.resolve()}",
        )
        program = compile_program(ROOT / "benchmarks/share_values.c", Path(scratch, "share_values"), *library)
        measure: list[str | Path] = [program, *filter(None, [node])]
        lines = subprocess.run(measure, check=True, capture_output=True, text=True).stdout.splitlines()
    fastest: dict[tuple[int, str], float] = {}
    for line in lines:
        size, what, ns = line.split()
        key = int(size), what
        fastest[key] = min(float(ns), fastest.get(key, float("inf")))
    return fastest


def main() -> None:
    """Measure and print the table."""
    parser = arguments(__doc__, build=True)
    parser.add_argument("--node", help="HOST:PORT of another node's ses-share-agent")
    options = parser.parse_args()
    fastest = measured(options.build, options.node)
    print("| bytes | " + " | ".join(COLUMNS) + " |")
    print("|" + "---:|" * (len(COLUMNS) + 1))
    for size in sorted({size for size, _ in fastest}):
        row = (f"{fastest[size, what]:,.0f}" if (size, what) in fastest else "" for what in COLUMNS)
        print(f"| {size:,} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    program(main)
