"""``ses nodes publish``: what storage offers jobs now, for the plugin of Slurm to read."""

from __future__ import annotations

import time
from pathlib import Path

import click
from ses_client.client import ServiceClient

from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.output import console, line, print_json
from ses.slurm.offers import offers
from ses.slurm.offers import publish as put


@click.command(epilog=examples("ses nodes publish /var/spool/qstorman/nodes"))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@service_command
def publish(client: ServiceClient, as_json: bool, file: Path) -> None:
    """Write what storage offers each class of nodes now into FILE, for Slurm.

    The plugin reads it with check=FILE, and job_submit.lua.  Run it every minute where they run.
    While no service answers FILE stays, and after five minutes it refuses no job any more.
    """
    text = offers(client.elements().elements, client.node_classes().node_classes, time.time())
    put(file, text)
    count = text.count("\n") - 1
    if as_json:
        print_json({"file": str(file), "offers": count})
    else:
        line(console(), f"{count} offers in {file}.")
