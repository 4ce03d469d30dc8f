"""``ses nodes``: the compute nodes, and which of them suit a task."""

from __future__ import annotations

import click

from ses.answers import parse
from ses.commands.groups import WholeSentences
from ses.commands.nodes.publish import publish
from ses.commands.nodes.rank import rank
from ses.commands.nodes.weigh import weigh
from ses.commands.options import service_command
from ses.errors import NotFoundError
from ses.node_answers import NodeClass
from ses.output import console, number, print_json, table
from ses.service import ServiceClient


@click.group(cls=WholeSentences)
def nodes() -> None:
    """Show the compute nodes, and find those that suit a task."""


@nodes.command("list")
@service_command
def list_command(client: ServiceClient, as_json: bool) -> None:
    """List the classes of nodes: what they mount, their links, and how many are heard of (MB/s).

    Nodes that no class of the site has, but that an agent runs on, come last, as class '-'.
    """
    data = client.node_classes()
    classes = parse("the nodes", NodeClass.all_of, data)
    if as_json:
        print_json(data)
        return
    if not classes:
        raise NotFoundError(
            "No nodes are known: the site describes none (qsm:NodeClass), and no agent is heard of."
        )
    headers = ("class", "nodes", ">count", ">heard", ">open", "mounts", ">link", "uplink")
    table(console(), headers, [_row(one) for one in classes])


def _row(one: NodeClass) -> list[str]:
    rate = "" if one.uplink_rate is None else f" {number(one.uplink_rate, 0)}"
    return [
        one.name or "-",
        one.nodes,
        str(one.count),
        str(one.heard),
        str(one.open_files),
        "all" if one.systems is None else ", ".join(one.systems) or "none",
        number(one.link, 0),
        f"{one.uplink}{rate}" if one.uplink else "-",
    ]


nodes.add_command(publish)
nodes.add_command(rank)
nodes.add_command(weigh)
