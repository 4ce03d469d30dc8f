"""``ses experiment``: live measurements of what placement is worth, on this machine."""

from __future__ import annotations

import click
from ses.commands.groups import WholeSentences

from ses_experiment.commands.collision import collision
from ses_experiment.commands.dedicated import dedicated
from ses_experiment.commands.disc import disc
from ses_experiment.commands.needs import needs
from ses_experiment.commands.nodes import nodes
from ses_experiment.commands.orca import orca
from ses_experiment.commands.papers import papers
from ses_experiment.commands.places import places
from ses_experiment.commands.programs import programs
from ses_experiment.commands.read2 import read2
from ses_experiment.commands.share import share
from ses_experiment.commands.smed import smed
from ses_experiment.commands.sort import sort
from ses_experiment.commands.steer import steer
from ses_experiment.commands.table1 import table1


@click.group(cls=WholeSentences)
def experiment() -> None:
    """Measure on this machine where files go and how long programs take.

    A checkout has them, by make install. places, read2 and dedicated need no root. The others make file
    systems of limited speed, and undo everything at the end or when stopped; collision, needs, steer and
    table1 put them under a mergerfs union, start the whole chain on free loopback ports and run programs as
    users from number 61000 on; orca and disc put a limited network before them. What is measured, and what
    may be concluded: docs/evaluation.md.
    """


experiment.add_command(collision)
experiment.add_command(dedicated)
experiment.add_command(disc)
experiment.add_command(needs)
experiment.add_command(nodes)
experiment.add_command(orca)
experiment.add_command(papers)
experiment.add_command(places)
experiment.add_command(programs)
experiment.add_command(read2)
experiment.add_command(share)
experiment.add_command(smed)
experiment.add_command(sort)
experiment.add_command(steer)
experiment.add_command(table1)
