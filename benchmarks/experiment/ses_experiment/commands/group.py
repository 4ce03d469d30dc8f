"""``ses experiment``: live measurements of what placement is worth, on this machine."""

from __future__ import annotations

from importlib import import_module

import click
from ses.commands.groups import WholeSentences

# Each is a command in the module of its name.
_EXPERIMENTS = (
    *("collision", "dedicated", "disc", "needs", "nodes", "orca", "papers", "places", "programs", "read2"),
    *("share", "smed", "sort", "steer", "table1"),
)


@click.group(cls=WholeSentences)
def experiment() -> None:
    """Measure on this machine where files go and how long programs take.

    A checkout has them, by make install. places, read2 and dedicated need no root; share makes nodes of
    network namespaces. The others make file systems of limited speed, and undo everything at the end or when
    stopped; collision, needs, nodes, programs, smed, steer and table1 put them under mergerfs unions, start
    the whole chain on free loopback ports and run programs, most as users from number 61000 on; orca and disc
    put a limited network before them. What is measured, and what may be concluded: docs/evaluation.md.
    """


for _name in _EXPERIMENTS:
    experiment.add_command(getattr(import_module(f"ses_experiment.commands.{_name}"), _name))
