"""``ses share list``, ``create`` and ``remove``."""

from __future__ import annotations

import os
import pwd
from dataclasses import asdict

import click

from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.commands.share.failures import explained
from ses.output import console, line, print_json, table


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@click.command("list", epilog=examples("ses share list"))
@json_option
def list_command(as_json: bool) -> None:
    """List the regions of this node that you may read."""
    from ses.share import regions

    with explained():
        listed = regions()
    if as_json:
        print_json({"regions": [asdict(region) for region in listed]})
        return
    out = console()
    if not listed:
        line(out, "Nobody shares a region on this node that you may read.")
        return
    headers = ["owner", "region", "mode", ">items", ">bytes", ">free", ">open in"]
    rows = [
        [
            *(
                _user(region.owner),
                region.name,
                f"{region.mode:04o}",
                f"{region.items} of {region.items_most}",
            ),
            *(f"{region.bytes:,}", f"{region.bytes_free:,}", str(region.opened)),
        ]
        for region in listed
    ]
    table(out, headers, rows)


@click.command(epilog=examples("ses share create results --size 65536 --mode 0640"))
@click.argument("region")
@click.option("--size", type=click.IntRange(1), default=1 << 20, show_default=True, help="Bytes for values.")
@click.option("--items", type=click.IntRange(1), default=256, show_default=True, help="Most items.")
@click.option("--mode", default="0600", show_default=True, help="Who may read and write, as of a file.")
def create(region: str, size: int, items: int, mode: str) -> None:
    """Make a region; it stays until it is removed or the node starts again."""
    from ses.share import Region

    try:
        permissions = int(mode, 8)
    except ValueError:
        raise click.BadParameter(f"{mode!r} is no octal number, such as 0660.", param_hint="--mode") from None
    if permissions & 0o600 != 0o600 or permissions > 0o777:
        raise click.BadParameter(
            f"{mode!r} does not let its owner read and write, as 0600 does.", param_hint="--mode"
        )
    with explained():
        Region.create(region, size, items, permissions).close()


@click.command(epilog=examples("ses share remove results"))
@click.argument("region", nargs=-1)
@click.option("--job", help="Those of this job: for the batch system's epilog.")
def remove(region: tuple[str, ...], job: str | None) -> None:
    """Remove regions of yours, for root of anybody; processes that have them open keep them."""
    from ses.share import Region, regions

    if bool(region) == (job is not None):
        raise click.UsageError("Say either which regions, or --job.")
    if job is not None:
        may = [region for region in regions() if os.geteuid() in (0, region.owner)]
        region = tuple(f"{region.owner}:{region.name}" for region in may if region.name.startswith(f"{job}/"))
    for name in region:
        with explained():
            Region.remove(name)
