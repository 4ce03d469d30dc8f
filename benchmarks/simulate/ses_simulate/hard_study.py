"""The hard scenarios with confidence intervals: every rule against random and round robin."""

from __future__ import annotations

from collections.abc import Sequence

from ses_simulate.hard import Run, simulate
from ses_simulate.processes import Progress, run_all
from ses_simulate.rows import Row, gain, ratio
from ses_simulate.scenarios import SCENARIOS
from ses_simulate.statistics import interval
from ses_simulate.table1_study import BASELINES, REFERENCE


def hard(
    scenarios: Sequence[str],
    policies: Sequence[str],
    seeds: int,
    jobs: int,
    progress: Progress,
    files: int = 0,
) -> list[Row]:
    """Run each rule, each baseline and the reference once per seed, and return the rows.

    The baseline takes the rule's place: what others place stays with them.  ``files`` 0: as many as
    the scenario says.
    """

    def runs(scenario: str, policy: str) -> list[Run]:
        return [Run(scenario, policy, seed, files) for seed in range(seeds)]

    needed = {
        run: None
        for scenario in scenarios
        for policy in (*policies, *BASELINES, REFERENCE)
        for run in runs(scenario, policy)
    }
    done = run_all(simulate, list(needed), jobs, progress)

    def means(scenario: str, policy: str) -> list[float]:
        return [done[run].mean for run in runs(scenario, policy)]

    return [
        Row(
            scenario=scenario,
            users=None,
            policy=policy,
            baseline=baseline,
            supported="all" if SCENARIOS[scenario].managed >= 1.0 else "half",
            gain=gain(means(scenario, policy), means(scenario, baseline)),
            slowdown_vs_clairvoyant=ratio(means(scenario, policy), means(scenario, REFERENCE)),
            mean_slowdown=interval(means(scenario, policy)).mean,
            seeds=seeds,
            deciders=SCENARIOS[scenario].deciders,
            p99_slowdown=interval([done[run].p99 for run in runs(scenario, policy)]).mean,
        )
        for scenario in scenarios
        for policy in policies
        for baseline in BASELINES
    ]
