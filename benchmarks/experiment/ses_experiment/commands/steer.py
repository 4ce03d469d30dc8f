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
from ses_experiment.commands.options import (
    build_option,
    rounds_option,
    run,
    seed_option,
    some_of,
    threads_option,
)


@click.command(epilog=examples("ses experiment steer --clients daemon --rounds 3"))
@click.option(
    "--clients", type=some_of(experiment.CLIENTS), default=",".join(experiment.CLIENTS), show_default=True,
    metavar="NAME,...", help="Who writes: programs of the node, containers, clients of an NFS server.",
)  # fmt: skip
@click.option(
    "--background", type=click.Choice(sorted(LOADS)), default="skewed", show_default=True,
    help="How busy others keep the branches.",
)  # fmt: skip
@rounds_option(5)
@click.option(
    "--seconds", type=click.IntRange(5), default=30, show_default=True, metavar="SECONDS",
    help="How long users begin files in each round.",
)  # fmt: skip
@click.option(
    "--megabytes", type=click.IntRange(1), default=24, show_default=True, metavar="N",
    help="MiB of each file.",
)  # fmt: skip
@click.option(
    "--least-branches", type=click.IntRange(1), default=2, show_default=True, metavar="N",
    help="That of ses apply.",
)  # fmt: skip
@threads_option
@seed_option
@build_option
@json_option
def steer(as_json: bool, **settings: Any) -> None:
    """Compare a union that ses apply steers with the union alone and with the library.

    Eight users write files with pauses on eight equal branches that others keep busy. Prints what a file
    takes, and what part of the library's gain steering reaches: for programs of this node, in containers
    (Podman) and of clients of a real NFS server (nfs-ganesha), which the library does not reach.
    """
    plan = experiment.Plan(**settings)
    rounds, known = run(lambda interrupts, progress: experiment.measure(plan, interrupts, progress))
    results = [experiment.reached(rounds, client) for client in plan.clients]
    if as_json:
        shares = [asdict(result) for result in results]
        print_json({**known, "reached": shares, "rounds": [asdict(entry) for entry in rounds]})
        return
    table(console(), ("who writes", ">union alone s", ">steered s", ">library's gain reached %"), [
        [result.client, number(result.plain, 2), number(result.steered, 2), number(100 * result.share, 0)]
        for result in results
    ])  # fmt: skip
    line(console(), f"Programs of this node under the library: {number(results[0].library, 2)} s for a file.")
