"""``ses nodes``: the compute nodes, and which of them suit a task."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.nodes import NodeClass

from ses.commands.examples import examples
from ses.commands.groups import WholeSentences
from ses.commands.nodes.of import of
from ses.commands.nodes.publish import publish
from ses.commands.nodes.rank import rank
from ses.commands.nodes.weigh import weigh
from ses.commands.options import service_command
from ses.output import console, line, number, print_json, second, table


@click.group(cls=WholeSentences)
def nodes() -> None:
    """Show the compute nodes, and find those that suit a task."""


@nodes.command("list", epilog=examples("ses nodes list"))
@service_command
def list_command(client: ServiceClient, as_json: bool) -> None:
    """List the classes of nodes: what they mount, their links, and how many are heard of (MB/s).

    Nodes that no class of the site has, but that an agent runs on, come last, as class '-'.
    """
    answer = client.node_classes()
    if as_json:
        print_json(answer)
        return
    if not answer.node_classes:
        raise NotFoundError(
            "No nodes are known: the site describes none (qsm:NodeClass), and no agent is heard of."
        )
    headers = ("class", "nodes", ">count", ">heard", ">open", "mounts", ">link", "uplink")
    out = console()
    table(out, headers, [_row(node_class) for node_class in answer.node_classes])
    for stalled in (thread for of_class in answer.node_classes for thread in of_class.stalled):
        line(
            out,
            f"{stalled.node}: thread {stalled.thread} of its agent has stalled since "
            f"{second(stalled.since)}; run there: ses doctor",
            "yellow",
        )
    for excluded in (exclusion for of_class in answer.node_classes for exclusion in of_class.excluded):
        line(out, f"{excluded.element} is {excluded}", "yellow")


def _row(node_class: NodeClass) -> list[str]:
    rate = "" if node_class.uplink_mb_s is None else f" {number(node_class.uplink_mb_s, 0)}"
    return [
        node_class.node_class or "-",
        node_class.nodes,
        str(node_class.count),
        str(node_class.heard),
        str(node_class.open_files),
        "all" if node_class.storage_systems is None else ", ".join(node_class.storage_systems) or "none",
        number(node_class.link_mb_s, 0),
        f"{node_class.uplink}{rate}" if node_class.uplink else "-",
    ]


nodes.add_command(of)
nodes.add_command(publish)
nodes.add_command(rank)
nodes.add_command(weigh)
