"""``ses experiment nodes``: what a node for a task is worth."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, number, print_json, table
from ses_simulate.rows import shown
from ses_simulate.statistics import interval

from ses_experiment.commands import options
from ses_experiment.papers.qstorman import nodes as experiment
from ses_experiment.papers.qstorman.nodes import ARMS, RANKED


@click.command(epilog=examples("ses experiment nodes --rounds 3"))
@options.rounds(10)
@options.number("--jobs", 4, "Jobs in each round of an arm, one a second and a half after the other.")
@options.number("--size", 30, "What each job writes.", "MIB", most=500)
@options.seed
@options.build
@json_option
def nodes(as_json: bool, **settings: Any) -> None:
    """Run jobs of a small Slurm on the nodes that the service ranks first, on random ones, and as Slurm does.

    Two nodes mount the one union, two the other, and others keep the branches of one of them busy, in some
    rounds of this one, in some of that.  Prints how long jobs took from their submission to their end, and
    how much of it ranking saves, with 95 % intervals over rounds.
    """
    plan = experiment.Plan(**settings)
    rounds, known = options.run(lambda interrupts, progress: experiment.measure(plan, interrupts, progress))
    took = {(entry.number, entry.arm): fmean(entry.seconds) for entry in rounds}
    numbers = range(1, plan.rounds + 1)
    saved = {
        arm: interval([1 - took[at, RANKED] / took[at, arm] for at in numbers])
        for arm in ARMS
        if arm != RANKED
    }
    if as_json:
        known["saved"] = {arm: options.ends(gain) for arm, gain in saved.items()}
        print_json({**known, "rounds": [asdict(entry) for entry in rounds]})
        return
    rows = []
    for arm in ARMS:
        mine = [entry for entry in rounds if entry.arm == arm]
        avoided = sum(entry.avoided for entry in mine)
        took_here = number(fmean(took[entry.number, arm] for entry in mine))
        gain = "-" if arm == RANKED else shown(saved[arm])
        rows.append([arm, took_here, f"{avoided} of {plan.rounds * plan.jobs}", gain])
    table(console(), ("nodes", ">seconds", ">jobs away from others", ">ranked saves %"), rows)
    line(console(), "With 95 % intervals over rounds; fewer than five say little.")
