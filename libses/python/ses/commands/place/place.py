"""``ses place``: one of several directories, and a claim on it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click
from ses_client.errors import UsageError

from ses.amounts import Rate, Size
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.commands.place.options import ledger_option, shown_path
from ses.quantities import requirements_in


class _RateOf(Rate):
    """``DIR=RATE``."""

    name = "dir=rate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the directory and bytes per second."""
        if not isinstance(value, str):
            return value
        directory, _, rate = value.rpartition("=")
        if not directory:
            raise UsageError(
                f"{value!r} states no rate of a directory. Write DIR=RATE, like /scratch1=500MB/s."
            )
        return directory, super().convert(rate, param, ctx)


@click.command(
    epilog=examples(
        "ses place --among /scratch1 /scratch2 --size 300GB --for 8h --mkdir run-XXXX",
        "ses place --among /scratch1 /scratch2 --need 'write>=200MB/s' --json",
    )
)
@click.option(
    "--among",
    "first",
    metavar="DIR",
    multiple=True,
    help="Directories to choose from; others follow.",
)
@click.argument("others", metavar="[DIR]...", nargs=-1)
@click.option(
    "--again",
    metavar="[DIR|ID]",
    is_flag=False,
    flag_value="",
    help="Another directory for what is written next under a claim of yours, such as when the first is full: "
    "its needs, size and end, on another file system. [your only claim]",
)
@click.option(
    "--need",
    "needs",
    metavar="NEED",
    multiple=True,
    help="What is needed, like 'write>=200MB/s'; ! at the end refuses less.",
)
@click.option("--size", type=Size(), help="Bytes to be written, like 300GB: given only where they fit.")
@click.option(
    "--for",
    "lasting",
    metavar="pid:N|8h|job",
    help="When the claim ends: with a process, after a time, or with this job of Slurm. [24h]",
)
@click.option(
    "--mkdir",
    metavar="run-XXXX",
    help="Make a directory of this name there, with letters for X, for you alone (0700).",
)
@click.option(
    "--rate", "rates", type=_RateOf(), multiple=True, help="What a directory gives one stream at best."
)
@ledger_option
@json_option
def place(
    first: tuple[str, ...],
    others: tuple[str, ...],
    again: str | None,
    needs: tuple[str, ...],
    size: int | None,
    lasting: str | None,
    mkdir: str | None,
    rates: tuple[tuple[str, float], ...],
    ledger: Path | None,
    as_json: bool,
) -> None:
    """Choose one of several directories, print it, and keep a claim on it.

    Asks no service: it looks at free space, at what moves on each device, and at claims of this machine. A
    claim counts as one stream, and as its size in full; what a directory of --mkdir holds is taken off where
    that is 1,000 files at most. Exits with 1 when nothing fits.
    """
    from ses.place import placing
    from ses.place.claims import holder

    if again is not None:
        if first or others or needs or mkdir or rates:
            raise UsageError("--again takes --size, --for and --ledger: the rest is that of the claim.")
        until = holder(lasting, time.time()) if lasting else None
        placement = placing.place_again(again, ledger, size=size, holder=until)
    else:
        if not first:
            raise UsageError("Name directories by --among, or a claim by --again.")
        request = placing.Request(
            (*first, *others),
            holder(lasting, time.time()),
            requirements_in(needs),
            size,
            mkdir,
            dict(rates),
        )
        placement = placing.place(request, ledger)
    if as_json:
        from ses.output import print_json

        print_json(placing.as_json(placement))
    elif sys.stdout.isatty():
        click.echo(shown_path(placement.directory))
    else:  # byte by byte, for $(...)
        sys.stdout.buffer.write(os.fsencode(placement.directory) + b"\n")
