"""``ses experiment programs``: how long real programs take, placed and not."""

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

from ses_experiment.arms import PRODUCT
from ses_experiment.commands import options
from ses_experiment.papers.qstorman import programs as experiment
from ses_experiment.papers.qstorman.program_rows import ROWS


@click.command(epilog=examples("ses experiment programs --rounds 3"))
@options.rounds(10)
@click.option(
    "--baseline", "baselines", type=options.some_of(experiment.BASELINES), metavar="NAME,...",
    default="rand,mfs", show_default=True, help=f"Policies of the union: {', '.join(experiment.BASELINES)}.",
)  # fmt: skip
@options.threads
@options.seed
@options.build
@json_option
def programs(as_json: bool, **settings: Any) -> None:
    """See how long real programs take on unequal branches, placed by the library and by a union's policies.

    An MPI-IO program (the patterns of IOR), HDF5's tools, bwa and samtools, a sort out of core, ImageMagick,
    sqlite and git, all of Debian, run at the same moment, each until its files are on their devices.  Prints
    what each took, and how much of it placing saves, with 95 % intervals over rounds.
    """
    plan = experiment.Plan(**settings)
    rounds, known = options.run(lambda interrupts, progress: experiment.measure(plan, interrupts, progress))
    took = {(entry.number, entry.arm): entry.seconds for entry in rounds}
    numbers = range(1, plan.rounds + 1)
    saved = {
        (row.name, arm): interval([1 - took[at, PRODUCT][place] / took[at, arm][place] for at in numbers])
        for place, row in enumerate(ROWS)
        for arm in plan.baselines
    }
    for arm in plan.baselines:
        saved["all", arm] = interval([1 - sum(took[at, PRODUCT]) / sum(took[at, arm]) for at in numbers])
    if as_json:
        known["saved"] = [
            {"program": name, "baseline": arm, **options.ends(gain)} for (name, arm), gain in saved.items()
        ]
        print_json(
            {**known, "programs": [row.name for row in ROWS], "rounds": [asdict(entry) for entry in rounds]}
        )
        return
    rows = []
    for place, name in enumerate([*(row.name for row in ROWS), "all"]):
        cells = [name]
        for arm in (PRODUCT, *plan.baselines):
            times = [took[at, arm][place] if name != "all" else sum(took[at, arm]) for at in numbers]
            cells.append(number(fmean(times)))
            cells += [] if arm == PRODUCT else [shown(saved[name, arm])]
        rows.append(cells)
    heads = [text for arm in plan.baselines for text in (f">{arm} s", ">saved %")]
    table(console(), ("program", ">placed s", *heads), rows)
    line(console(), "With 95 % intervals over rounds; fewer than five say little.")
