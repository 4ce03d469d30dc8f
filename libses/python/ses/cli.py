"""The ``ses`` command: one group, one file per command in :mod:`ses.commands`."""

from __future__ import annotations

from typing import Any

import click

from ses.commands.advise import advise
from ses.commands.apply import apply
from ses.commands.calibrate import calibrate
from ses.commands.copy import copy, migrate
from ses.commands.demo import demo
from ses.commands.discover import discover
from ses.commands.doctor import doctor
from ses.commands.elements.drain import drain, undrain
from ses.commands.elements.group import elements
from ses.commands.experiment.group import experiment
from ses.commands.explain import explain
from ses.commands.files import files
from ses.commands.groups import WholeSentences
from ses.commands.init import init
from ses.commands.job import job
from ses.commands.kb.group import kb
from ses.commands.layout import layout
from ses.commands.near.map_near import map_near
from ses.commands.near.run_near import run_near
from ses.commands.nodes.group import nodes
from ses.commands.profile import profile
from ses.commands.rank import rank
from ses.commands.report import report
from ses.commands.requirements import requirements
from ses.commands.simulate import simulate
from ses.commands.status import status
from ses.errors import SesError


class _Group(WholeSentences):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SesError as error:
            told = click.ClickException(str(error))
            told.exit_code = error.exit_code  # type: ignore[misc]  # click reads it from the instance
            raise told from error


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit codes: 0 done; 1 something is not right, or the service failed; 2 not understood; "
        "3 the service is not reachable; 4 the token is not accepted; 5 what was asked for does not exist."
    ),
)
@click.version_option(package_name="qstorman-ses", prog_name="ses", message="%(prog)s %(version)s")
def main() -> None:
    """Look at storage elements, rank them, see why files are where they are, mend the chain.

    A token is sent by https or to a service on this machine that is proven (docs/security.md).
    """


for _command in (
    status,
    elements,
    drain,
    undrain,
    rank,
    nodes,
    explain,
    files,
    job,
    report,
    requirements,
    kb,
    doctor,
    demo,
    experiment,
    simulate,
    layout,
    init,
    discover,
    apply,
    calibrate,
    profile,
    advise,
    copy,
    migrate,
    run_near,
    map_near,
):
    main.add_command(_command)
