"""Table 1 with confidence intervals: every rule against random and against Lustre's round robin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ses_simulate.processes import Progress, run_all
from ses_simulate.rows import Row, gain, ratio
from ses_simulate.statistics import interval
from ses_simulate.table1 import LONE_SECONDS, Run, simulate

BASELINES = ("random", "roundrobin")
REFERENCE = "clairvoyant"


def table1(
    scenarios: Sequence[str],
    users: Sequence[int],
    policies: Sequence[str],
    seeds: int,
    jobs: int,
    progress: Progress,
) -> list[Row]:
    """Run what the rows need, each run once, and return the rows.

    A seed stands for two runs with mirrored chance, and its time for the mean of the two: where one
    has a heavy background the other has a light one, so the mean scatters less than that of two other
    runs would (antithetic variates: Hammersley and Morton, 1956).  Where the background is skewed, gains
    scatter two to three times as much, and a seed stands for all four ways to mirror the background and
    the users' chance.  Seeds are independent.

    Half supported: the supported users against the others of the same run, who are placed by the
    baseline.  All supported: everyone against everyone on the baseline, seed by seed.
    """
    cells = [(scenario, count, policy) for scenario in scenarios for count in users for policy in policies]
    needed: dict[Run, None] = {}
    for scenario, count, policy in cells:
        for baseline in BASELINES:
            for entry in (policy, REFERENCE):
                needed.update(dict.fromkeys(_half(scenario, count, entry, baseline, seeds)))
        for entry in (policy, REFERENCE, *BASELINES):
            needed.update(dict.fromkeys(_all(scenario, count, entry, seeds)))
    done = run_all(simulate, list(needed), jobs, progress)

    def rows() -> Iterator[Row]:
        for scenario, count, policy in cells:
            for baseline in BASELINES:
                halves = [done[run] for run in _half(scenario, count, policy, baseline, seeds)]
                best = [done[run] for run in _half(scenario, count, REFERENCE, baseline, seeds)]
                yield _row(
                    (scenario, count, policy, baseline, "half"),
                    _by_seed(scenario, [half.supported for half in halves]),
                    _by_seed(scenario, [half.others for half in halves]),
                    _by_seed(scenario, [entry.supported for entry in best]),
                )
                yield _row(
                    (scenario, count, policy, baseline, "all"),
                    _by_seed(scenario, [done[run].supported for run in _all(scenario, count, policy, seeds)]),
                    _by_seed(
                        scenario, [done[run].supported for run in _all(scenario, count, baseline, seeds)]
                    ),
                    _by_seed(
                        scenario, [done[run].supported for run in _all(scenario, count, REFERENCE, seeds)]
                    ),
                )

    return list(rows())


def _half(scenario: str, users: int, policy: str, baseline: str, seeds: int) -> list[Run]:
    supported = users // 2
    return [Run(scenario, users, policy, baseline, supported, *draw) for draw in _draws(scenario, seeds)]


def _all(scenario: str, users: int, policy: str, seeds: int) -> list[Run]:
    return [Run(scenario, users, policy, "random", users, *draw) for draw in _draws(scenario, seeds)]


def _ways(scenario: str) -> tuple[tuple[bool, bool], ...]:
    """Return how chance is mirrored in the runs of a seed: the users', the background's."""
    both = ((False, False), (True, True))
    return (*both, (False, True), (True, False)) if scenario == "skewed" else both


def _draws(scenario: str, seeds: int) -> list[tuple[int, bool, bool]]:
    return [(seed, *way) for seed in range(seeds) for way in _ways(scenario)]


def _by_seed(scenario: str, times: Sequence[float]) -> list[float]:
    runs = len(_ways(scenario))
    return [sum(times[first : first + runs]) / runs for first in range(0, len(times), runs)]


def _row(
    cell: tuple[str, int, str, str, str],
    times: Sequence[float],
    baseline: Sequence[float],
    clairvoyant: Sequence[float],
) -> Row:
    scenario, users, policy, against, supported = cell
    mean = interval(times).mean
    return Row(
        scenario=scenario,
        users=users,
        policy=policy,
        baseline=against,
        supported=supported,
        gain=gain(times, baseline),
        slowdown_vs_clairvoyant=ratio(times, clairvoyant),
        mean_slowdown=mean / LONE_SECONDS,
        seeds=len(times),
        mean_seconds=mean,
        baseline_seconds=interval(baseline).mean,
    )
