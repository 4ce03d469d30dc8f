"""``ses place``: one of several directories, and a claim on it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from ses_client.errors import NotFoundError, UsageError

from ses.amounts import Rate, Size
from ses.commands.examples import examples
from ses.commands.options import json_option, service_options
from ses.commands.place.options import become, ledger_option, service_is_named, shown_path, user_option
from ses.quantities import requirements_in
from ses.settings import current_user

if TYPE_CHECKING:
    from pwd import struct_passwd as Owner

    from ses.commands.options import Connect


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
        "ses place --on scratch --need 'write>=200MB/s' --for job --mkdir run-XXXX",
        "ses place --among /scratch1 /scratch2 --size 300GB --for 8h --json",
    )
)
@click.option(
    "--on",
    "system",
    metavar="SYSTEM",
    help="A set of directories: of directories.toml, or a storage system for which the service chooses.",
)
@click.option(
    "--among",
    "first",
    metavar="DIR",
    multiple=True,
    help="Directories to choose from without a service; others follow.",
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
    "--rate",
    "rates",
    type=_RateOf(),
    multiple=True,
    help="What a directory gives one stream at best. [learned]",
)
@user_option
@click.option("--streams", type=click.IntRange(1, 64), help="With --on: how many write there at a time. [1]")
@click.option(
    "--application",
    help="With --on: the name that needs and sizes are known by. [SES_APPLICATION]",
)
@click.option("--lines", is_flag=True, help="With --on: print id, element and directory in one line.")
@ledger_option
@service_options
@json_option
def place(
    system: str | None,
    first: tuple[str, ...],
    others: tuple[str, ...],
    again: str | None,
    needs: tuple[str, ...],
    size: int | None,
    lasting: str | None,
    mkdir: str | None,
    rates: tuple[tuple[str, float], ...],
    owner: Owner | None,
    streams: int | None,
    application: str | None,
    lines: bool,
    ledger: Path | None,
    connect: Connect,
    as_json: bool,
) -> None:
    """Choose one of several directories, print it, and keep a claim on it.

    With --on the service chooses and keeps the claim, for all nodes. With --among no service is asked: it
    looks at free space, at what moves on each device, and at claims of this machine. A claim counts as one
    stream, and as its size, less what a directory of --mkdir holds, where that is known. Exits with 1 when
    nothing fits.
    """
    from ses.place.claims import holder

    if system is not None and not (first or others or again):
        from ses.place.sets import settings

        described = settings().get(system)
        if described is not None:
            system, first = None, described.directories
            needs += described.need
            rates = (*((path, Rate()(rate)) for path, rate in described.rates.items()), *rates)
            ledger = ledger or (Path(described.ledger) if described.ledger else None)
    of_service = {"--streams": streams, "--application": application, "--lines": lines}
    of_machine = {"--among": first, "--rate": rates, "--ledger": ledger}
    _check(system, of_machine if system else of_service, bool(first or others) or again is not None)
    holding = holder(lasting, time.time())
    if system:
        from ses.place import service

        become(owner)
        name = application or os.environ.get("SES_APPLICATION") or None
        needed = requirements_in(needs)
        wanted = service.wanted(system, current_user(), holding, needed, size, streams or 1, name)
        given = service.kept(client := connect(), service.ask(client, wanted, mkdir), holding)
        _show(" ".join([given.place_id, given.element] * lines + [given.directory]), given, as_json)
        return
    from ses.place import placing

    if again is None:
        more = {"size": size, "mkdir": mkdir} | ({} if owner is None else {"user": owner.pw_uid})
        needed = requirements_in(needs)
        asked = placing.request_of((*first, *others), holding, needed, dict(rates), **more)
        placement = placing.place(asked, ledger)
    else:
        if first or others or needs or mkdir or rates or owner:
            raise UsageError("--again takes --size, --for and --ledger: the rest is that of the claim.")
        until = holding if lasting else None
        try:
            placement = placing.place_again(again, ledger, size=size, holder=until)
        except NotFoundError:
            if ledger is not None or again.isdecimal() or not service_is_named():
                raise
            from ses.place import service

            before = service.named(client := connect(), again)
            until = until or service.holder_of(before)
            given = service.kept(client, service.again(client, before, size, until), until)
            _show(given.directory, given, as_json)
            return
    _show(placement.directory, placing.as_json(placement) if as_json else {}, as_json)


def _check(system: str | None, others: dict[str, Any], among: bool) -> None:
    """Raise UsageError unless one way is named, and no option ``others`` of the other way."""
    if system is None and not among:
        raise UsageError("Name a storage system by --on, directories by --among, or a claim by --again.")
    if system is not None and among:
        raise UsageError("Name a storage system by --on, or directories by --among, not both.")
    stated = [name for name, value in others.items() if value]
    if stated:
        raise UsageError(f"{stated[0]} goes with {'--among' if system else '--on'} only.")


def _show(directory: str, whole: dict[str, Any], as_json: bool) -> None:
    if as_json:
        from ses.output import print_json

        print_json(whole)
    elif sys.stdout.isatty():
        click.echo(shown_path(directory))
    else:  # byte by byte, for $(...)
        sys.stdout.buffer.write(os.fsencode(directory) + b"\n")
