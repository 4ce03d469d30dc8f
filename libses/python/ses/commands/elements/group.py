"""``ses elements``: the places a file can go; without a command, the list of them."""

from __future__ import annotations

import click

from ses.commands.elements.changes import add, remove, set_command
from ses.commands.elements.listing import list_command
from ses.commands.groups import WholeSentences


class _Listing(WholeSentences):
    """Runs ``list`` where no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if not first or (first.startswith("-") and first not in self.get_help_option_names(ctx)):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Listing)
def elements() -> None:
    """List the storage elements; add, change and remove them.

    Without a command: the list.
    """


for _command in (list_command, add, set_command, remove):
    elements.add_command(_command)
