"""``ses experiment steer``: what steering a union reaches of what the library does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, number, print_json, table

from ses_experiment import steer as experiment
from ses_experiment.background import LOADS
from ses_experiment.commands import options


@click.command(epilog=examples("ses experiment steer --clients daemon --rounds 3"))
@click.option(
    "--clients", type=options.some_of(experiment.CLIENTS), metavar="NAME,...",
    default=",".join(experiment.CLIENTS), show_default=True,
    help="Who writes: programs of the node, containers, clients of an NFS server.",
)  # fmt: skip
@click.option(
    "--background", type=click.Choice(sorted(LOADS)), default="skewed", show_default=True,
    help="How busy others keep the branches.",
)  # fmt: skip
@options.rounds(5)
@options.seconds
@options.number("--megabytes", 24, "MiB of each file.")
@options.number("--least-branches", 2, "That of ses apply.")
@options.threads
@options.seed
@options.build
@json_option
def steer(as_json: bool, **settings: Any) -> None:
    """Compare a union that ses apply steers with the union alone and with the library.

    Eight users write files with pauses on eight equal branches that others keep busy. Prints what a file
    takes, and what part of the library's gain steering reaches: for programs of this node, in containers
    (Podman) and of clients of a real NFS server (nfs-ganesha), which the library does not reach.
    """
    plan = experiment.Plan(**settings)
    rounds, known = options.run(lambda interrupts, progress: experiment.measure(plan, interrupts, progress))
    results = [experiment.reached(rounds, client) for client in plan.clients]
    if as_json:
        shares = [asdict(result) for result in results]
        print_json({**known, "reached": shares, "rounds": [asdict(entry) for entry in rounds]})
        return
    table(console(), ("who writes", ">union alone s", ">steered s", ">library's gain reached %"), [
        [result.client, number(result.plain, 2), number(result.steered, 2),
         "-" if result.share is None else number(100 * result.share, 0)]
        for result in results
    ])  # fmt: skip
    line(console(), f"Programs of this node under the library: {number(results[0].library, 2)} s for a file.")
