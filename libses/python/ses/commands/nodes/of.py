"""``ses nodes of``: which node holds a file."""

from __future__ import annotations

from pathlib import Path

import click
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError

from ses.commands.examples import examples
from ses.commands.options import FileName, service_command
from ses.near.execution.executors import usual
from ses.near.placing import Site, own_names
from ses.output import console, line, print_json, say
from ses.settings import current_user


@click.command(epilog=examples("ses nodes of /srv/union/alice/output.dat"))
@click.argument("file", type=FileName())
@click.option("--address", is_flag=True,
              help="For programs: here, slurm:NODE or ssh:NODE,..., as libses-offload takes it.")  # fmt: skip
@service_command
def of(client: ServiceClient, as_json: bool, file: Path, address: bool) -> None:
    """Name the node that holds a file: the one on which ses run-near would run a program.

    Of several it is the one with the widest link, and there the one where a stream gets most.  --address
    names up to four where it gets the same, from which libses-offload takes the idlest; with Slurm the
    first.  Exits with 5 when no one node is known to hold the file.
    """
    if not file.is_file():
        raise NotFoundError(f"There is no regular file {file}.")
    nodes, elements = Site(client, current_user()).nodes_of(file)
    node, executor = nodes[0], usual()
    others = nodes[1:] if executor == "ssh" else ()
    destination = (
        "here"
        if set(nodes) & set(own_names())
        else ",".join(f"{executor}:{name}" for name in (node, *others))
    )
    if as_json:
        print_json({"file": str(file), "node": node, "address": destination, "elements": elements})
    elif address:
        say(destination)
    else:
        line(console(), f"{file}: {node} holds it ({', '.join(elements)})")
