"""``ses experiment places``: what a directory chosen by ``ses place`` is worth to a batch of jobs."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, print_json, table
from ses_simulate.rows import shown
from ses_simulate.statistics import Interval, interval

from ses_experiment import places as experiment
from ses_experiment.commands import options

_SHORT = {"rounds": 1, "megabytes": 6, "baselines": ("weights",)}


@click.command(epilog=examples("ses experiment places --short"))
@click.option(
    "--rounds", type=click.IntRange(1), metavar="N", help="Batches of each arm. [5; with --short 1]"
)  # fmt: skip
@click.option(
    "--baseline", "baselines", type=options.some_of(tuple(experiment.BASELINES)), metavar="NAME,...",
    help="What ses place is compared with: "
    + "; ".join(f"{name} ({what})" for name, what in experiment.BASELINES.items())
    + ". [all; with --short weights]",
)  # fmt: skip
@click.option("--short", is_flag=True, help="Jobs of half the size, one round: about three minutes.")
@options.resume
@options.seed
@json_option
def places(short: bool, resume: Path | None, as_json: bool, **settings: Any) -> None:
    """Run a batch of jobs, each in one of eight unequal directories, and see how even their load is.

    40 jobs, 12 at a time, of 12 MiB on average, most of them small, write into ext4 of 4 to 1 MB/s and into
    two NFS mounts. Each run has a Linux of its own in user space (linux.uml, of the package user-mode-linux),
    which needs no root and 2 GB of memory. Prints for each arm the load of the fullest directory over the
    mean one, the same of the work that jobs brought, and the seconds until all jobs ended and of all jobs
    together; beside them by what ses place multiplies each, with 95 % intervals over rounds.
    """
    stated = {name: value for name, value in settings.items() if value is not None}
    plan = experiment.Plan(**{**(_SHORT if short else {}), **stated})
    file = options.kept_in(resume, "places")
    batches, known = options.run(
        lambda interrupts, progress: experiment.measure(plan, file, interrupts, progress)
    )
    names = [field.name for field in fields(experiment.Outcome)]
    arms: dict[str, dict[str, tuple[float, Interval]]] = {}
    for arm in (experiment.PRODUCT, *plan.baselines):
        pairs = experiment.compared(plan, batches, arm)
        arms[arm] = {
            name: (
                interval([getattr(other, name) for _, other in pairs]).mean,
                interval([getattr(placed, name) / getattr(other, name) for placed, other in pairs]),
            )
            for name in names
        }
    if as_json:
        known["arms"] = {
            arm: {
                name: {"mean": mean, "ratio": options.ends(ratio)} for name, (mean, ratio) in of_arm.items()
            }
            for arm, of_arm in arms.items()
        }
        print_json({**known, "batches": [asdict(batch) for batch in batches]})
        return
    columns = ["arm", *(text for name in names for text in (f">{name}", ">ses place by"))]
    table(console(), columns, [
        [arm, *(text for mean, ratio in of_arm.values()
                for text in (f"{mean:.2f}", f"x {shown(ratio, 2, 1.0, '')}"))]
        for arm, of_arm in arms.items()
    ])  # fmt: skip
    line(console(), "Below 1 ses place is ahead. 95 % intervals over rounds; fewer than five say little.")
