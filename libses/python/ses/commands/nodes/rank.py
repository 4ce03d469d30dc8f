"""``ses nodes rank``: on which nodes a task would get what it needs.  Reserves nothing."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_NOT_FOUND
from ses_client.messages.nodes import NodeSelection, RankedNode
from ses_client.messages.requirements import Subject

from ses.amounts import Size
from ses.columns import Column
from ses.commands.decision import called, show_requirements
from ses.commands.examples import examples
from ses.commands.options import service_command, subject_options, wide_option
from ses.output import console, line, number, print_json, say, table
from ses.quantities import requirements_in


@click.command(
    epilog=examples(
        "ses nodes rank 'write>=300MB/s' 'free>=2TB!'",
        "ses nodes rank 'read>=1GB/s' --count 4 --nodes 'n[0001-0048]'",
    )
)
@click.argument("requirement", nargs=-1)
@subject_options
@click.option("--count", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="Nodes of one job, with a stream on each.")  # fmt: skip
@click.option("--nodes", metavar="NODES", help="Only these nodes, like 'n[0001-0048]'.")
@click.option("--exclude", metavar="NODES", help="Not these nodes.")
@click.option("--system", "storage_system", help="Only for files on this storage system.")
@click.option("--profile", help="Requirements of this profile, for kinds not given here.")
@click.option("--size", "expected_bytes", type=Size(zero=True), metavar="SIZE",
              help="Size a file will have, like 500MB.")  # fmt: skip
@click.option("--limit", type=click.IntRange(0, 100_000), default=10, show_default=True,
              help="Ranks; 0: all.")  # fmt: skip
@click.option("--lines", is_flag=True,
              help="For scripts: node, distance, read and write MB/s (-: not known), element.")  # fmt: skip
@wide_option
@service_command
def rank(
    client: ServiceClient,
    as_json: bool,
    requirement: tuple[str, ...],
    subject: Subject,
    lines: bool,
    wide: bool,
    **asked: Any,
) -> None:
    """Rank the nodes by what a stream of a task would get there.

    REQUIREMENT is KIND>=MINIMUM[!][,weight=N], like 'write>=300MB/s' 'free>=2TB!'; with '!' nodes that miss
    it are refused.  What is not given comes from the application's, the user's, the VO's or the site's
    requirements.  A node counts as the best element it can reach, over its links, beside the files open
    there.  With --count the nodes of one job are chosen, spread over elements, servers and links.  Nothing
    is reserved.  Exits with 5 when no node is left.
    """
    selection = client.select_nodes(subject, requirements_in(requirement), **asked)
    if as_json:
        print_json(selection)
    elif lines:
        for candidate in selection.candidates:
            rates = f"{number(candidate.available.read_mb_s, 3)} {number(candidate.available.write_mb_s, 3)}"
            say(f"{candidate.node} {candidate.distance:.6f} {rates} {candidate.element}")
    else:
        _show(console(wide=wide), selection, subject)
    if not selection.candidates:
        raise SystemExit(EXIT_NOT_FOUND)


_HEADERS = (
    Column("#", right=True),
    Column("node"),
    Column("distance", right=True),
    Column("write", right=True),
    Column("read", right=True),
    Column("free GB", right=True, leaves=1),
    Column("open", right=True, leaves=2),
    Column("element"),
    Column("limit", wraps=True),
)


def _show(out: Console, selection: NodeSelection, subject: Subject) -> None:
    show_requirements(out, selection.requirements, f"Requirements of {called(subject)}")
    if selection.candidates:
        table(out, _HEADERS, [_row(candidate) for candidate in selection.candidates])
    else:
        line(out, "No node is left.", "red")
    for refusal in selection.refused:
        line(out, f"Refused: {refusal.nodes} ({refusal.count}): {refusal.detail}")
    for note in selection.notes:
        line(out, f"Note: {note}", "yellow")


def _row(node: RankedNode) -> list[str]:
    return [
        str(node.rank),
        node.node,
        f"{node.distance:.3f}",
        number(node.available.write_mb_s),
        number(node.available.read_mb_s),
        number(node.free_gb, 2),
        str(node.open_files),
        node.element,
        node.limited_by,
    ]
