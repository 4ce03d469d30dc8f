"""``ses experiment smed``: what monitoring costs the file system it watches."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, print_json
from ses_simulate.rows import shown
from ses_simulate.statistics import interval

from ses_experiment.commands import options
from ses_experiment.papers.qstorman import smed as experiment


@click.command(epilog=examples("ses experiment smed --slices 20"))
@options.number(
    "--slices", 60, "Pairs of slices of a second: with the monitor, and with it stopped.", least=2
)
@options.number("--programs", 4, "Programs that create, write, sync, read and remove files.")
@options.seed
@options.build
@json_option
def smed(as_json: bool, **settings: Any) -> None:
    """See how much less a file system does while exporter and monitor watch it, twice a second.

    Programs share two processors with both, on branches whose speed nothing limits.  Prints files a second
    with and without, and what is lost, with a 95 % interval over pairs.
    """
    plan = experiment.Plan(**settings)
    slices, known = options.run(lambda interrupts, progress: experiment.measure(plan, interrupts, progress))
    lost = interval([entry.lost for entry in slices])
    if as_json:
        print_json({**known, "lost": options.ends(lost), "slices": [asdict(entry) for entry in slices]})
        return
    watched, alone = fmean(entry.watched for entry in slices), fmean(entry.alone for entry in slices)
    line(console(), f"Files a second: {watched:.0f} with the monitor, {alone:.0f} without it.")
    line(console(), f"Lost to the monitor, %: {shown(lost)}")
    used = fmean(entry.processor for entry in slices)
    line(console(), f"Exporter and monitor took {100 * used:.1f} % of a processor.")
