"""Groups of commands whose help says each command in its whole first sentence."""

from __future__ import annotations

import click

_LONGEST = 1000  # no sentence is: none is cut


class WholeSentences(click.Group):
    """Lists its commands with their first sentences wrapped, where click would cut them to one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(_LONGEST))
                    for name in self.list_commands(ctx)
                    if (command := self.get_command(ctx, name)) is not None and not command.hidden
                ]
            )
