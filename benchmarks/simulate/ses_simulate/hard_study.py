"""The hard scenarios with confidence intervals: every rule against random, round robin and least-open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

from ses_simulate.attainment import Attainment
from ses_simulate.hard import Run, Slowdowns, simulate
from ses_simulate.processes import Progress, run_all
from ses_simulate.rows import Row, gain, ratio
from ses_simulate.scenarios import SCENARIOS
from ses_simulate.statistics import interval
from ses_simulate.table1_study import BASELINES, REFERENCE

HARD_BASELINES = (*BASELINES, "least-open")
ATTAINED = tuple(field.name for field in fields(Attainment))


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
        for policy in (*policies, *HARD_BASELINES, REFERENCE)
        for run in runs(scenario, policy)
    }
    done = run_all(simulate, list(needed), jobs, progress)

    def slowdowns(scenario: str, policy: str) -> list[Slowdowns]:
        return [done[run] for run in runs(scenario, policy)]

    def times(scenario: str, policy: str) -> list[float]:
        by = SCENARIOS[scenario].judged
        return [entry.judged("mean" if by == "room" else by) for entry in slowdowns(scenario, policy)]

    def mean(scenario: str, policy: str, name: str) -> float | None:
        value = interval([attrgetter(name)(entry) for entry in slowdowns(scenario, policy)]).mean
        return value if math.isfinite(value) else None

    return [
        Row(
            scenario=scenario,
            users=None,
            policy=policy,
            baseline=baseline,
            supported="all" if SCENARIOS[scenario].managed >= 1.0 else "half",
            gain=gain(times(scenario, policy), times(scenario, baseline)),
            slowdown_vs_clairvoyant=ratio(times(scenario, policy), times(scenario, REFERENCE)),
            mean_slowdown=interval(times(scenario, policy)).mean,
            seeds=seeds,
            nodes=SCENARIOS[scenario].nodes,
            judged=SCENARIOS[scenario].judged,
            p95_slowdown=mean(scenario, policy, "p95"),
            p99_slowdown=mean(scenario, policy, "p99"),
            last_slowdown=mean(scenario, policy, "last"),
            crowd=mean(scenario, policy, "crowd"),
            no_room=mean(scenario, policy, "no_room"),
            **{name: mean(scenario, policy, f"attained.{name}") for name in ATTAINED},
        )
        for scenario in scenarios
        for policy in policies
        for baseline in HARD_BASELINES
    ]
