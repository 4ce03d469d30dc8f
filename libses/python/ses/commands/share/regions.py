"""``ses share list``, ``create`` and ``remove``."""

from __future__ import annotations

import os
import pwd
import sys
from dataclasses import asdict

import click
from ses_client.errors import SesError

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


@click.command(
    epilog=examples(
        "ses share create results --size 65536 --mode 0640", "ses share create results --among n1,n2,n3"
    )
)
@click.argument("region")
@click.option("--size", type=click.IntRange(1), default=1 << 20, show_default=True, help="Bytes for values.")
@click.option("--items", type=click.IntRange(1), default=256, show_default=True, help="Most items.")
@click.option("--mode", default="0600", show_default=True, help="Who may read and write, as of a file.")
@click.option(
    "--among", metavar="HOST,...",
    help="Make it on the node among these that answers this one soonest, and print its name.",
)  # fmt: skip
def create(region: str, size: int, items: int, mode: str, among: str | None) -> None:
    """Make a region; it stays until it is removed or the node starts again.

    With --among each node is tried first with 100 gets; say HOST:PORT where its agent has another port.
    """
    from ses.share import Region

    try:
        permissions = int(mode, 8)
    except ValueError:
        raise click.BadParameter(f"{mode!r} is no octal number, such as 0660.", param_hint="--mode") from None
    if permissions & 0o600 != 0o600 or not 0 <= permissions <= 0o777:
        raise click.BadParameter(
            f"{mode!r} does not let its owner read and write, as 0600 does.", param_hint="--mode"
        )
    if among is not None:
        region = _on_nearest(region, among.split(","), size, items)
    with explained():
        Region.create(region, size, items, permissions).close()
    if among is not None:
        line(console(), region)


def _on_nearest(region: str, nodes: list[str], size: int, items: int) -> str:
    from ses.share.nearest import ranked

    if "@" in region:
        raise click.UsageError("Say either a node in the name, or --among.")
    candidates = ranked(nodes, size, items)
    for refused in candidates:
        if refused.microseconds is None:
            line(console(sys.stderr), f"{refused.node}: {refused.reason}")
    if candidates[0].microseconds is None:
        raise SesError("None of the nodes can have the region.")
    return f"{region}@{candidates[0].node}"


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
