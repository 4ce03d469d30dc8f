"""Runs somebody's test-suite in a union, first without the preload library, then with it.

The agent is the fake of tests/libses: each file is placed on the next of three branches.  The
command is a line for sh, run in a fresh directory of the union, which is also its TMPDIR; what it
prints goes to plain.log and placed.log.  Comparing them is left to the reader: suites differ in
what they print.  See README.md beside this file.

    .venv/bin/python tests/suites/with_and_without.py --to /var/tmp/results 'python3.11 -m test -v test_os'
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/libses"))

from fake_agent import CREATED, FakeAgent  # noqa: E402

BRANCHES = 3
STEADY = "cache.attr=0,cache.entry=0,cache.negative_entry=0"  # else results depend on the second


def mount(directory: Path, options: str) -> tuple[Path, list[Path]]:
    """A union below `directory`, which others may enter, and its branches."""
    directory.chmod(0o755)
    union, branches = directory / "union", [directory / f"b{number + 1}" for number in range(BRANCHES)]
    for branch in (union, *branches):
        branch.mkdir(mode=0o755)
    listed = ":".join(map(str, branches))
    command = ["mergerfs", "-o", f"allow_other,use_ino,minfreespace=0,{options}", listed, str(union)]
    subprocess.run(command, check=True, timeout=60)
    return union, branches


def end_session(session: int) -> None:
    """Kill what the suite left behind, also in process groups of its own, as timeout(1) makes them."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:  # state, parent, group, session: proc(5)
                os.kill(int(process.name), signal.SIGKILL)


def run(line: str, library: Path | None, log: Path, options: str, seconds: float) -> str:
    """The suite's exit status, and what came of its creates."""
    with tempfile.TemporaryDirectory(prefix="suite-", dir="/var/tmp") as name:
        directory = Path(name)
        union, branches = mount(directory, options)
        agent = FakeAgent(directory / "agent.sock", union, branches)
        agent.choose = lambda number: number % BRANCHES
        inside = union / "suite"
        inside.mkdir()
        inside.chmod(0o1777)
        environment = {**os.environ, "TMPDIR": str(inside), "SES_AGENT_SOCKET": str(agent.path)}
        environment["SES_SYNC_MS"] = "20000"  # a slow fake is no reason to create elsewhere
        if library:
            environment["LD_PRELOAD"] = str(library)
        try:
            with log.open("wb") as out:
                suite = subprocess.Popen(
                    ["sh", "-c", line], env=environment, cwd=inside, stdin=subprocess.DEVNULL, stdout=out,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
            try:
                status: int | str = suite.wait(seconds)
            except subprocess.TimeoutExpired:
                status = f"none after {seconds:g} seconds"
            finally:
                end_session(suite.pid)
                suite.wait()
            outcomes = Counter(report.outcome == CREATED for report in agent.reports)
            return (
                f"{log.stem}: exit status {status}, {outcomes[True]} files placed, "
                f"{outcomes[False]} not, {len(agent.leftovers())} left in staging"
            )
        finally:
            agent.close()
            subprocess.run(["umount", "-l", union], check=False, timeout=60)


def main() -> int:
    """Run the suite twice; 1 when nothing was placed, as nothing was compared then."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("line", help="what to run, for sh")
    parser.add_argument("--to", type=Path, required=True, help="directory for plain.log and placed.log")
    parser.add_argument("--build", type=Path, default=ROOT / "build/libses", help="where CMake built libses")
    parser.add_argument("--options", default=f"category.create=mfs,{STEADY}", help="of mergerfs")
    parser.add_argument("--seconds", type=float, default=3600, help="longest run (default: %(default)s)")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unmount, and leave nothing running
    library = arguments.build.resolve() / "libses-wrapper.so"
    for name, preload in (("plain", None), ("placed", library)):
        log = arguments.to / f"{name}.log"
        print(summary := run(arguments.line, preload, log, arguments.options, arguments.seconds), flush=True)
    return 1 if " 0 files placed" in summary else 0


if __name__ == "__main__":
    sys.exit(main())
