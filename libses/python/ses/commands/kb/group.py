"""``ses kb``: the knowledge base, what it holds and how that came about; one file per command beside this."""

from __future__ import annotations

import click

from ses.commands.groups import WholeSentences
from ses.commands.kb.diff import diff
from ses.commands.kb.export import export
from ses.commands.kb.history import history, undo
from ses.commands.kb.importing import import_command
from ses.commands.kb.validate import validate


@click.group(cls=WholeSentences)
def kb() -> None:
    """Check descriptions of the site and of requirements, and exchange them with the knowledge base."""


for _command in (validate, export, import_command, diff, history, undo):
    kb.add_command(_command)
