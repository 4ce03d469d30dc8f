"""The same site simulated, beside what was measured, with nothing fitted.

What the simulation is given: rates, sizes, computing, starts, background, that all users are on one node, how
often the monitor samples and over which window it averages.
It draws its own chance.  Not given: the time programs take to start, the cost of FUSE, the processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ses.demo.site import AVERAGE_SECONDS, INTERVAL_SECONDS, WINDOW_SECONDS
from ses_simulate.monitor import Sampling
from ses_simulate.policies import RULES
from ses_simulate.processes import Progress, run_all
from ses_simulate.statistics import Interval, interval
from ses_simulate.table1 import Run, Site, Times, simulate

from ses_experiment.papers.qstorman.statistics import Comparison
from ses_experiment.papers.qstorman.table1_users import Form
from ses_experiment.site import Shape

OURS = "ours"
# A sample is known when the service asks for it next, on average half an interval later.
SAMPLING = Sampling(
    interval=INTERVAL_SECONDS,
    delay=INTERVAL_SECONDS / 2,
    constant=WINDOW_SECONDS,
    long_window=AVERAGE_SECONDS,
)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What the simulation gives for one comparison: gain, mean times of the two sides."""

    gain: Interval
    seconds: float
    baseline_seconds: float


def site(form: Form, shape: Shape) -> Site:
    """Return the live site in the simulator's terms: bytes, bytes per second."""
    return Site(
        read_rate=shape.read_rate * 1e6,
        write_rate=shape.write_rate * 1e6,
        sizes=tuple(map(float, form.bytes)),
        compute_seconds_per_gb=form.compute * 1e3,
        start_spread=form.start_spread,
        stream=form.stream_bytes,
        capacity=shape.capacity * 1e6,
        fullest=0.0,
        duplex=True,
    )


def simulated(
    compared: Sequence[Comparison], of: Site, seeds: int, jobs: int, progress: Progress
) -> dict[tuple[str, int, str, str], Simulated]:
    """Return what the simulation gives for each comparison of the library, where it knows the baseline."""
    cells = [known for known in compared if known.baseline in RULES and known.who != "A/A"]
    needed = {
        cell.cell: [tuple(_run(cell, side, seed, of) for side in (True, False)) for seed in range(seeds)]
        for cell in cells
    }
    todo = dict.fromkeys(run for pairs in needed.values() for pair in pairs for run in pair)
    done = run_all(simulate, list(todo), jobs, progress)
    gains = {}
    for comparison in cells:
        times = [
            (_side(comparison, done[placed], True), _side(comparison, done[plain], False))
            for placed, plain in needed[comparison.cell]
        ]
        gains[comparison.cell] = Simulated(
            gain=interval([1 - placed / plain for placed, plain in times]),
            seconds=fmean(placed for placed, _ in times),
            baseline_seconds=fmean(plain for _, plain in times),
        )
    return gains


def _run(comparison: Comparison, placed: bool, seed: int, of: Site) -> Run:
    """Return the run of one side of a comparison; halves are in the same run."""
    policy = comparison.baseline if comparison.who == "all" and not placed else OURS
    supported = comparison.users // 2 if comparison.who == "half" else comparison.users
    return Run(
        comparison.background, comparison.users, policy, comparison.baseline, supported, seed,
        sampling=SAMPLING, site=of, nodes=1,
    )  # fmt: skip


def _side(comparison: Comparison, times: Times, placed: bool) -> float:
    """Return the mean time of a side."""
    return times.others if comparison.who == "half" and not placed else times.supported
