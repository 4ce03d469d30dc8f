"""``ses nodes weigh``: let Slurm prefer the nodes that storage serves best now."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.messages.requirements import Subject

from ses.commands.examples import examples
from ses.commands.options import service_command, subject_options
from ses.output import console, line, print_json, table
from ses.quantities import requirements_in
from ses.slurm.nodes import folded
from ses.slurm.scontrol import scontrol
from ses.slurm.weights import LIGHTEST, apply, changes, weights


@click.command(epilog=examples("ses nodes weigh 'write>=300MB/s' --dry-run"))
@click.argument("requirement", nargs=-1)
@subject_options
@click.option("--base", type=click.IntRange(0, 1_000_000), default=LIGHTEST, show_default=True,
              help="Weight of the best nodes.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@service_command
def weigh(
    client: ServiceClient,
    as_json: bool,
    requirement: tuple[str, ...],
    subject: Subject,
    base: int,
    dry_run: bool,
) -> None:
    """Set the weights of Slurm's nodes by what a stream of a task would get there.

    Of the nodes that suit a job Slurm takes those of least weight.  REQUIREMENT as for ses nodes rank.
    Weights follow distances and rates in steps of a twentieth; nodes that are ranked nowhere keep theirs.
    Run it every minute, as an operator of Slurm; while no service answers, the weights stay.
    """
    asked = requirements_in(requirement)
    ranked = client.select_nodes(subject, asked, limit=0).candidates
    changed = changes(weights(ranked, base), scontrol("show", "nodes", "--oneliner"))
    if not dry_run:
        apply(changed)
    shown = {weight: folded(nodes) for weight, nodes in changed.items()}
    if as_json:
        print_json({"changed": [{"weight": weight, "nodes": nodes} for weight, nodes in shown.items()]})
    elif not shown:
        line(console(), "All weights are as they should be.")
    else:
        table(console(), (">weight", "nodes"), [[str(weight), nodes] for weight, nodes in shown.items()])
