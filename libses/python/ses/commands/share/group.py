"""``ses share``: regions of shared memory on this node, and the values in them."""

from __future__ import annotations

import click

from ses.commands.groups import WholeSentences
from ses.commands.share.regions import create, list_command, remove
from ses.commands.share.values import get, items, put


@click.group(cls=WholeSentences)
def share() -> None:
    """Look at values that processes of this node share in memory, get and put them (docs/share.md).

    A region is named [USER:][JOB/]NAME[@HOST[:PORT]]: without USER one of your own, with `job/` of your job,
    with a HOST of another node.
    """


for _command in (list_command, create, remove, items, get, put):
    share.add_command(_command)
