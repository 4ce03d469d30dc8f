"""What ses-agent takes of a node while programs have 1,000 placed files open.

Unmodified programs under the library keep files of a mergerfs union open: nothing is written to them, or to
every tenth of them, or to all of them, 4 KiB once a second each.  Agent, service and union are the real ones.
Counted is the processor time of all threads of the agent, after what is created has been taken up, as a part
of one processor.  With ten open files the agent asks the service as often as with many, which is
the state to compare with.  No number makes this fail.  Needs root.

    .venv/bin/python benchmarks/open_files.py [--build build/libses] [--files 1000] [--programs 1]
        [--seconds 30] [--rounds 1]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ses_benchmarks.arguments import arguments, as_root, program
from ses_benchmarks.chain import Chain, built_chain

TAKE_UP_SECONDS = 12
HOLD = """
import os, sys, time
directory, files, active = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
held = [os.open(f"{directory}/{n}", os.O_CREAT | os.O_WRONLY) for n in range(files)]
print("open", flush=True)
while True:
    begun = time.monotonic()
    for fd in held[:active]:
        os.write(fd, b"x" * 4096)
    time.sleep(max(0.0, begun + 1 - time.monotonic()))
"""


def by_thread(pid: int) -> dict[str, float]:
    """Processor seconds of the threads of a process, in user and kernel mode together."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {task.name: int((task / "schedstat").read_text().split()[0]) / 1e9 for task in tasks}


@contextmanager
def held(site: Chain, library: Path, name: str, files: int, active: int, programs: int) -> Iterator[None]:
    """Programs that have ``files`` open together and write to ``active`` of them."""
    environment = {**os.environ, **site.patient, "LD_PRELOAD": str(library)}
    running = []
    try:
        for number in range(programs):
            directory = site.union / f"{name}-{number}"
            directory.mkdir()
            counts = str(-(-files // programs)), str(active // programs)
            command = [sys.executable, "-c", HOLD, directory, *counts]
            running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        for program in running:
            assert program.stdout is not None
            program.stdout.readline()
        yield
    finally:
        for program in running:
            program.kill()
            program.communicate()


def used(site: Chain, seconds: float) -> tuple[float, float]:
    """Part of a processor that the agent takes from now on, and its busiest thread of that."""
    before, begun = by_thread(site.agent), time.monotonic()
    time.sleep(seconds)
    after, took = by_thread(site.agent), time.monotonic() - begun
    parts = [(after[thread] - before.get(thread, 0.0)) / took for thread in after]
    return sum(parts), max(parts)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, build=True, files=1000, programs=1, seconds=30.0, rounds=1)
    given = parser.parse_args()
    as_root()
    library = given.build / "libses-wrapper.so"
    cases = {
        "none open": (0, 0),
        "10 open, all idle": (10, 0),
        "open, all idle": (given.files, 0),
        "open, a tenth written": (given.files, given.files // 10),
        "open, all written": (given.files, given.files),
    }
    with built_chain(given.build) as site:
        for what, (files, active) in cases.items():
            parts = []
            for turn in range(given.rounds):
                with held(site, library, f"{what.replace(' ', '-')}{turn}", files, active, given.programs):
                    time.sleep(TAKE_UP_SECONDS)
                    parts.append(used(site, given.seconds))
                site.settle()
            all_threads, busiest = (statistics.median(column) for column in zip(*parts, strict=True))
            print(
                f"{files:6,} {what:22} {all_threads:7.2%} of a processor, {busiest:.2%} its busiest thread "
                f"(load {os.getloadavg()[0]:.1f})",
                flush=True,
            )


if __name__ == "__main__":
    program(main)
