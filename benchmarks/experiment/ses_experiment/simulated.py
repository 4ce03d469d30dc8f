"""The same site simulated, beside what was measured, with nothing fitted.

What the simulation is told: rates, sizes, computing, starts, background, that all users are on one node, how
often the monitor samples and over which window it averages.
It draws its own chance.  Not told: the time programs take to start, the cost of FUSE, the processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ses.demo.site import AVERAGE_SECONDS, INTERVAL_SECONDS, WINDOW_SECONDS
from ses_simulate.monitor import Sampling
from ses_simulate.policies import POLICIES
from ses_simulate.processes import Progress, run_all
from ses_simulate.statistics import Interval, interval
from ses_simulate.table1 import Run, Site, Times, simulate

from ses_experiment.site import Shape
from ses_experiment.statistics import Comparison
from ses_experiment.table1_users import MIB, Form

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
    """What the simulation says about one comparison: gain, mean times of the two sides."""

    gain: Interval
    seconds: float
    baseline_seconds: float


def site(form: Form, shape: Shape) -> Site:
    """Return the live site in the simulator's terms: bytes, bytes per second."""
    return Site(
        read_rate=shape.read_rate * 1e6,
        write_rate=shape.write_rate * 1e6,
        sizes=tuple(float(size * MIB) for size in form.sizes),
        compute_seconds_per_gb=form.compute * 1e3,
        start_spread=form.start_spread,
        stream=form.stream_bytes,
        capacity=shape.capacity * 1e6,
        fullest=0.0,
        duplex=True,
    )


def simulated(
    found: Sequence[Comparison], of: Site, seeds: int, jobs: int, progress: Progress
) -> dict[tuple[str, int, str, str], Simulated]:
    """Return what the simulation says about each comparison of the library, where it knows the baseline."""
    cells = [one for one in found if one.baseline in POLICIES and one.who != "A/A"]
    needed = {
        one.cell: [tuple(_run(one, side, seed, of) for side in (True, False)) for seed in range(seeds)]
        for one in cells
    }
    todo = dict.fromkeys(run for pairs in needed.values() for pair in pairs for run in pair)
    done = run_all(simulate, list(todo), jobs, progress)
    told = {}
    for one in cells:
        times = [
            (_side(one, done[ours], True), _side(one, done[plain], False)) for ours, plain in needed[one.cell]
        ]
        told[one.cell] = Simulated(
            gain=interval([1 - ours / plain for ours, plain in times]),
            seconds=fmean(ours for ours, _ in times),
            baseline_seconds=fmean(plain for _, plain in times),
        )
    return told


def _run(one: Comparison, ours: bool, seed: int, of: Site) -> Run:
    """Return the run that tells one side of a comparison; halves are in the same run."""
    policy, supported = (OURS, one.users // 2) if one.who == "half" else (OURS, one.users)
    if one.who == "all" and not ours:
        policy = one.baseline
    return Run(
        one.background, one.users, policy, one.baseline, supported, seed, sampling=SAMPLING, site=of, nodes=1
    )


def _side(one: Comparison, times: Times, ours: bool) -> float:
    """Return the mean time of a side."""
    return times.others if one.who == "half" and not ours else times.supported
