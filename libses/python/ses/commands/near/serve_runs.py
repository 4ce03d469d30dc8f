"""``ses serve-runs``: run here what one starts in the portal."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ses.commands.examples import examples
from ses.commands.near.signals import interruptible
from ses.commands.options import Existing, service_options
from ses.near.serving import Terms, serve
from ses.output import console, line
from ses.settings import current_user

if TYPE_CHECKING:
    from ses_client.address import ServiceAddress
    from ses_client.client import ServiceClient


@click.command(
    "serve-runs",
    epilog=examples(
        "ses serve-runs --only grep --only wc /scratch/alice/runs",
        "ses serve-runs /scratch/alice/runs -- --executor slurm",
    ),
)
@click.argument("directory", type=Existing(file_okay=False, writable=True))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS OF MAP-NEAR...]")
@click.option("--only", multiple=True, metavar="PROGRAM",
              help="Run this program only, named as in the run; may be repeated. A program that starts "
              "others, such as sh or env, allows all. [any program]")  # fmt: skip
@service_options
def serve_runs(
    connect: Callable[[], ServiceClient], directory: Path, options: tuple[str, ...], only: tuple[str, ...]
) -> None:
    """Run here, as you, what you start in the portal: each run as ses map-near, in DIRECTORY.

    Runs are taken one after the other. What a run prints is in DIRECTORY/ID.out, its standard error in
    DIRECTORY/ID.err; the portal shows how far it is and the last lines of standard error, and stops it. Who
    signs in at the portal as you can run programs here, and so can who controls portal or service: --only
    allows programs by name. Options behind -- are given to each ses map-near and go before those of a run.
    Ctrl-C ends it, and what runs.
    """
    client = connect()
    folder, node = directory.absolute(), socket.gethostname()
    environment = _environment(client.address)
    terms = Terms(node, folder, frozenset(only), options, environment)
    user = client.runs().user
    _say(f"Runs that {user} starts in the portal are run here, on {node}, as {current_user()}, in {folder}.")
    allowed = f"only {', '.join(sorted(only))}" if only else "any program; --only PROGRAM would name some"
    _say(f"Who can sign in at the portal as {user}, or controls portal or service, can run here: {allowed}.")
    with interruptible("serve-runs"):
        serve(client, terms, _say)


def _say(text: str) -> None:
    line(console(sys.stderr), f"serve-runs: {text}")


def _environment(address: ServiceAddress) -> dict[str, str]:
    """Return what ``ses map-near`` is to find: the same service, by the same token."""
    named = {"SES_TOKEN_FILE": address.token_file, "SES_SERVICE_CA": address.ca}
    absolute = {name: str(path.absolute()) for name, path in named.items() if path is not None}
    return {**os.environ, "SES_SERVICE_URL": address.url, **absolute}
