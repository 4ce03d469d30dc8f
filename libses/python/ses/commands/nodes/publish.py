"""``ses nodes publish``: what storage offers jobs now, for the plugin of Slurm to read."""

from __future__ import annotations

from pathlib import Path

import click
from ses_client.client import ServiceClient

from ses.commands.options import service_command
from ses.output import console, line, print_json
from ses.slurm.offers import offers
from ses.slurm.offers import publish as put


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@service_command
def publish(client: ServiceClient, as_json: bool, file: Path) -> None:
    """Write what a stream would get on each element now into FILE, for check=FILE of the plugin of Slurm.

    Run it every minute where jobs are submitted.  While no service answers FILE stays, and after five
    minutes it refuses no job any more.
    """
    text = offers(client.elements().elements, client.node_classes().classes)
    put(file, text)
    count = text.count("\n") - 1
    if as_json:
        print_json({"file": str(file), "offers": count})
    else:
        line(console(), f"{count} offers in {file}.")
