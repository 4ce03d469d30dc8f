"""``ses experiment needs``: what part of the files gets the rate it needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, print_json, table
from ses_simulate.rows import shown
from ses_simulate.statistics import Interval, interval

from ses_experiment.arms import PRODUCT
from ses_experiment.commands import options
from ses_experiment.papers.qstorman import needs as experiment


@click.command(epilog=examples("ses experiment needs --rounds 3 --seconds 20"))
@options.number(
    "--users", 12, "How many users there are; they need 2.5, 5, 7.5 and 17.5 MB/s in turn.", most=64
)
@options.rounds(5)
@options.seconds
@click.option(
    "--baseline", "baselines", type=options.some_of(tuple(experiment.BASELINES)),
    default=",".join(experiment.BASELINES), show_default=True, metavar="NAME,...",
    help="What the product is compared with.",
)  # fmt: skip
@click.option(
    "--alike", is_flag=True, help="Each arm also with users who all need the same, to compare: twice as long."
)
@options.threads
@options.seed
@options.build
@json_option
def needs(as_json: bool, **settings: Any) -> None:
    """See which part of the files of users with unequal needs gets what it needs, on unequal branches.

    Branches of 22 to 4 MB/s; every other four users take no more than they need, the others all they get.
    Prints the part of the files whose rate was what their user needs, or four fifths of it, that of the
    worst user, and by how much the library is ahead of each other arm, with 95 % intervals over rounds.
    """
    plan = experiment.Plan(**settings)
    rounds, known = options.run(lambda interrupts, progress: experiment.measure(plan, interrupts, progress))
    arms: dict[str, dict[str, tuple[float, Interval]]] = {}
    names = [
        (name, alike) for alike in (False, True)[: 1 + plan.alike] for name in (PRODUCT, *plan.baselines)
    ]
    for name, alike in names:
        pairs = experiment.compared(plan, rounds, name, alike)
        arms[f"{name}, alike" if alike else name] = {
            what: (
                interval([getattr(baseline, what) for _, baseline in pairs]).mean,
                interval([getattr(placed, what) - getattr(baseline, what) for placed, baseline in pairs]),
            )
            for what in ("met", "nearly", "worst")
        }
    more = {
        name: interval(experiment.more_ahead(plan, rounds, name)) for name in plan.baselines if plan.alike
    }
    if as_json:
        known["more_ahead"] = {name: options.ends(ahead) for name, ahead in more.items()}
        known["arms"] = {
            name: {what: {"mean": mean, "ahead": options.ends(ahead)} for what, (mean, ahead) in arm.items()}
            for name, arm in arms.items()
        }
        print_json({**known, "rounds": [asdict(round_) for round_ in rounds]})
        return
    columns = "arm,>met %,>library ahead by,>80 % met,>library ahead by,>worst user,>library ahead by"
    table(console(), columns.split(","), [
        [name, *(text for mean, ahead in arm.values() for text in (f"{100 * mean:.1f}", shown(ahead)))]
        for name, arm in arms.items()
    ])  # fmt: skip
    for name, ahead in more.items():
        line(
            console(),
            f"Further ahead of {name} where needs differ than where all need the same: {shown(ahead)}",
        )
    line(console(), "Points of percent, with 95 % intervals over rounds; fewer than five say little.")
