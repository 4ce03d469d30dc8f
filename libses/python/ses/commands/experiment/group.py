"""``ses experiment``: live measurements of what placement is worth, on this machine."""

from __future__ import annotations

import click

from ses.commands.experiment.collision import collision
from ses.commands.experiment.dedicated import dedicated
from ses.commands.experiment.disc import disc
from ses.commands.experiment.needs import needs
from ses.commands.experiment.orca import orca
from ses.commands.experiment.read2 import read2
from ses.commands.experiment.table1 import table1
from ses.commands.groups import WholeSentences


@click.group(cls=WholeSentences)
def experiment() -> None:
    """Measure on this machine where files go and how long programs take.

    read2 and dedicated need no root; the others need it and a checkout. They make small file systems of
    limited speed and undo everything at the end or when stopped. collision, needs and table1 put them under
    one mergerfs union, start the whole chain on free loopback ports and run unmodified programs as users of
    their own (numbers from 61000 on, without accounts); orca and disc put a limited network before them.
    Progress goes to standard error.  What is measured, and what may be concluded: docs/evaluation.md.
    """


experiment.add_command(collision)
experiment.add_command(dedicated)
experiment.add_command(disc)
experiment.add_command(needs)
experiment.add_command(orca)
experiment.add_command(read2)
experiment.add_command(table1)
