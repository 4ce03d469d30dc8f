"""``ses run``, ``ses copy`` and ``ses migrate``: programs of their own, by the names people look for."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import click
from ses_client.errors import NoProgramError

_AS_IT_IS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@click.command(context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS] PROGRAM [ARGUMENTS]")
def run(arguments: tuple[str, ...]) -> None:
    """Run an unmodified program such that the files it creates are placed.

    Becomes ses-run, and takes its options: ses run --help.
    """
    _become("ses-run", "libses-wrapper", arguments)


@click.command(context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS] SOURCE... TARGET")
def copy(arguments: tuple[str, ...]) -> None:
    """Copy files and directories, each file to where it is served best.

    Becomes ses-copy, and takes its options: ses copy --help.
    """
    _become("ses-copy", "ses-copy", arguments)


@click.command(context_settings=_AS_IT_IS)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS] FILE...")
def migrate(arguments: tuple[str, ...]) -> None:
    """Move the bytes of files to where they are served best now, under the names they have.

    Becomes ses-migrate, and takes its options: ses migrate --help.
    """
    _become("ses-migrate", "ses-copy", arguments)


def _become(program: str, package: str, arguments: tuple[str, ...]) -> None:
    beside = Path(sys.argv[0]).resolve().with_name(program)
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(program)
    if path is None:
        raise NoProgramError(
            f"{program} is not installed: install the package {package}, or what make native built "
            "(cmake --install build/libses)."
        )
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    os.execv(path, [program, *arguments])
