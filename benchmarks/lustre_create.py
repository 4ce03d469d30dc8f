"""What placing a file on Lustre costs beyond the two calls it takes by hand.

On the tests' stand-in for Lustre, with a candidate table of one OST, a file of each kind in turn.  A create
and the setting of a layout take as long as a metadata server would (--server-us).

Compared are the lower quartiles, in which what else the machine does counts least.

The library looks at what was really set.  A Lustre client knows that by itself (36 us against the
6221 us of the two calls, measured on an emulated 2.17.0); the stand-in has to be asked, which is
most of what is beyond the two calls here and weighs the more the faster the metadata server is.
Judged is the last row: two calls that take as long as those measured.  The ratio to the same by hand
with that look is shown beside it.

    .venv/bin/python benchmarks/lustre_create.py [--build build/libses]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from ses_benchmarks import stand_ins  # noqa: F401  # first: it finds the modules of the tests

# isort: split
from fake_table import CREATED, FakeClaims, FakeTable
from lustre_mount import build_standin
from placed_programs import LIST, LUSTRE
from ses_benchmarks.arguments import arguments, program, whole
from ses_benchmarks.probe import BenchmarkError, Probe, Side, build_probe

TARGETS = 6
CALLS, PROCESSES = 500, 7
PLACED = CALLS + 101  # besides, create_loop makes a hundred to warm up and one file to open
BY_HAND = ("create-lustre", "create-lustre-look")
LIMIT = 1.02


def measure(standin: Path, probe: Probe, library: Path, scratch: Path, server_us: int) -> list[list[float]]:
    """The ratios of the lower quartiles in each process: library over two calls, and over three."""
    store, mount, socket = (scratch / f"{name}{server_us}" for name in ("store", "lustre", "socket"))
    for directory in (mount, store / "control/pools", *(store / f"ost{n:04x}" for n in range(TARGETS))):
        directory.mkdir(parents=True)
    environment = {**os.environ, "STANDIN_SERVER_US": str(server_us)}
    subprocess.run([standin, store, mount], check=True, timeout=30, env=environment)
    table = FakeTable(socket)
    placed = {"SES_AGENT_SOCKET": str(socket), "SES_LUSTRE_STANDIN": "1"}
    try:
        table.mount(mount.stat().st_dev, str(mount))
        table.system(1, backend=LUSTRE)
        table.place(0, "lfs/OST0002", index=2, form=LIST)
        claims = table.user()
        side = Side("create-absolute", mount, library, environment=placed)
        return [one_process(claims, probe, side) for _ in range(PROCESSES)]
    finally:
        table.close()
        subprocess.run(["umount", mount], check=True, timeout=30)


def one_process(claims: FakeClaims, probe: Probe, side: Side) -> list[float]:
    """The ratios of one process; raises BenchmarkError when a file was not placed: that is something else."""
    runs = probe.runs(side, ",".join((side.call, *BY_HAND)), CALLS)
    outcomes = [claim.outcome for claim in claims.take()]
    if outcomes != [CREATED] * PLACED:
        raise BenchmarkError(f"only {outcomes.count(CREATED)} of {PLACED} files were placed")
    placed_time, *by_hand = (statistics.quantiles(run.nanoseconds, n=4)[0] for run in runs)
    return [placed_time / seconds for seconds in by_hand]


def main() -> int:
    """Measure and print; 1 when the judged ratio is above the limit."""
    parser = arguments(__doc__, build=True)
    parser.add_argument(
        "--server-us", type=whole(0), nargs="+", default=[0, 300, 1000, 3000], metavar="US",
        help="times of a metadata server for one request, in microseconds; the last is judged "
        "(default: %(default)s)",
    )  # fmt: skip
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        probe = Probe(build_probe(scratch), max(os.sched_getaffinity(0)))
        standin, judged = build_standin(scratch), 0.0
        for server_us in given.server_us:
            ratios = measure(standin, probe, given.build / "libses-wrapper.so", scratch, server_us)
            two, three = (statistics.median(column) for column in zip(*ratios, strict=True))
            judged = two
            print(
                f"server {server_us:4d} us: placed create / by hand = {two:.3f} (two calls), "
                f"{three:.3f} (two calls and the look)"
            )
    return 0 if judged <= LIMIT else 1


if __name__ == "__main__":
    program(main)
