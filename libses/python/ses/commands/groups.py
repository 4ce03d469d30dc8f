"""Groups of commands: help in whole sentences, and commands that are loaded when they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click

from ses import ctrl_c_at_start

_MAX_SENTENCE = 1000  # no sentence is: none is cut


class WholeSentences(click.Group):
    """Lists its commands with their first sentences wrapped, where click would cut them to one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.sentences(ctx)))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; one that is nearly called so is named."""
        called = args[0]
        if self.get_command(ctx, called) is None and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(called, self.list_commands(ctx), 2)
            if near:
                ctx.fail(f"No such command {called!r}. Did you mean {' or '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)

    def sentences(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Return each command with the first sentence of its help."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield name, command.get_short_help_str(_MAX_SENTENCE)


class LoadedWhenCalled(WholeSentences):
    """Imports the module of a command when that is called, so that help comes at once.

    ``modules`` names the module of each command, and ``says`` the first sentence of its help.
    """

    def __init__(
        self, *args: Any, modules: Mapping[str, str], says: Mapping[str, str], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._modules = modules
        self._says = says

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the alphabet."""
        return sorted(self._says)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, loaded."""
        if cmd_name not in self._modules:
            return None
        ctrl_c_at_start.ends_the_process()  # as an exception it may be lost in what an import calls
        try:
            module = import_module(self._modules[cmd_name])
        finally:
            ctrl_c_at_start.is_an_exception()
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def sentences(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Return the sentence about each command, without loading any."""
        return ((name, self._says[name]) for name in self.list_commands(ctx))
