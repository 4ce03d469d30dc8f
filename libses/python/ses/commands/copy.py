"""``ses copy`` and ``ses migrate``: the programs ses-copy and ses-migrate, by the name people look for."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click
from ses_client.errors import NoProgramError

_AS_IT_IS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@click.command(context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS] SOURCE... TARGET")
def copy(arguments: tuple[str, ...]) -> None:
    """Copy files and directories, each file to where it is served best.

    Becomes ses-copy, and takes its options: ses copy --help.
    """
    _become("ses-copy", arguments)


@click.command(context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS] FILE...")
def migrate(arguments: tuple[str, ...]) -> None:
    """Move the bytes of files to where they are served best now, under the names they have.

    Becomes ses-migrate, and takes its options: ses migrate --help.
    """
    _become("ses-migrate", arguments)


def _become(program: str, arguments: tuple[str, ...]) -> None:
    beside = Path(sys.argv[0]).resolve().with_name(program)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(program)
    if found is None:
        raise NoProgramError(
            f"{program} is not installed: install the package ses-copy, or what make native built."
        )
    os.execv(found, [program, *arguments])
