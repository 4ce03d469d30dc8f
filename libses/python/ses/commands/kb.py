"""``ses kb``: the knowledge base, what it holds and how that came about; one file per command beside this."""

from __future__ import annotations

import click

from ses.commands.kb_validate import validate


@click.group()
def kb() -> None:
    """Check descriptions of the site and of requirements, and exchange them with the knowledge base."""


kb.add_command(validate)
