"""What ses-agent takes of a node: processor time while files are created, and wake-ups while none are.

Unmodified programs under the library create empty files in a mergerfs union at an even rate, and close
them at once or after a while; agent, service and union are the real ones.  Counted is the processor time
of all threads of the agent, as a part of one processor, and how long a create takes.  Then nobody creates
anything, and what is counted is how often its threads went to sleep.  No number makes this fail.

    .venv/bin/python benchmarks/agent_load.py [--build build/libses] [--rate 2000] [--seconds 20]
        [--programs 1] [--open 0] [--core N]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ses_benchmarks.arguments import arguments, as_root, program, whole
from ses_benchmarks.chain import Chain, built_chain
from ses_benchmarks.processes import Usage, sleeps

LOOP = """
import os, sys, time
directory, (rate, seconds, held) = sys.argv[1], map(float, sys.argv[2:])
begun, made, flags = time.monotonic(), 0, os.O_CREAT | os.O_EXCL | os.O_WRONLY
taken = []
while (now := time.monotonic()) < begun + seconds:
    if made > (now - begun) * rate:
        time.sleep(1 / rate)
        continue
    before = time.perf_counter_ns()
    fd = os.open(f"{directory}/{made}", flags)
    taken.append((time.perf_counter_ns() - before) / 1000)
    if held:
        time.sleep(held)
    os.close(fd)
    made += 1
print(*taken)
"""
SETTLE_SECONDS = 5


def create(
    site: Chain, library: Path, name: str, rate: float, seconds: float, programs: int = 1, held: float = 0
) -> list[float]:
    """Times (us) of creates by programs under the library, each file open for ``held`` seconds."""
    environment = {**os.environ, **site.patient, "LD_PRELOAD": str(library)}
    running = []
    for number in range(programs):
        directory = site.union / f"{name}{number}"
        directory.mkdir()
        arguments = [directory, str(rate / programs), str(seconds), str(held)]
        command = [sys.executable, "-c", LOOP, *arguments]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    return [float(each) for program in running for each in program.communicate()[0].split()]


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, build=True, rate=2000.0, seconds=20.0, programs=1)
    parser.add_argument("--open", type=float, default=0, help="seconds each file is open")
    parser.add_argument("--core", type=whole(0), help="a core for the agent alone, which polls there")
    given = parser.parse_args()
    as_root()
    options = [] if given.core is None else ["--core", str(given.core)]
    library = given.build / "libses-wrapper.so"
    with built_chain(given.build, *options) as site:
        create(site, library, "warm", 50, 2)
        site.settle()
        before, begun = Usage.of(site.agent), time.monotonic()
        taken = create(site, library, "files", given.rate, given.seconds, given.programs, given.open)
        created = len(taken)
        site.settle()
        used = Usage.of(site.agent).processor_seconds - before.processor_seconds
        seconds = time.monotonic() - begun
        rate, share = created / given.seconds, used / given.seconds
        print(f"{rate:.0f} creates a second: {100 * share:.1f} % of a processor")
        each = 1e6 * used / created
        print(f"{each:.0f} us a file, until its end was reported {seconds:.1f} s after the beginning")
        ranks = statistics.quantiles(taken, n=100)
        print(f"a create takes {ranks[49]:.0f} us (half), {ranks[98]:.0f} us (99 of 100)")
        time.sleep(SETTLE_SECONDS)
        before_idle, slept = Usage.of(site.agent), sleeps(site.agent)
        time.sleep(given.seconds)
        idle = Usage.of(site.agent).processor_seconds - before_idle.processor_seconds
        print(f"idle: {(sleeps(site.agent) - slept) / given.seconds:.1f} wake-ups a second, "
              f"{100 * idle / given.seconds:.2f} % of a processor")  # fmt: skip


if __name__ == "__main__":
    program(main)
