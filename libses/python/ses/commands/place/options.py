"""Options that the commands of places share."""

from __future__ import annotations

from pathlib import Path

import click

ledger_option = click.option(
    "--ledger",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the claims; in a directory with the setgid bit a group shares it. "
    "[places-HOST.sqlite in $XDG_STATE_HOME/ses or ~/.local/state/ses]",
)


def shown_path(path: str) -> str:
    """Return a path for a terminal: what would steer it is escaped."""
    from ses_client.visible import on_one_line

    return on_one_line(path)
