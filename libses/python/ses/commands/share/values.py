"""``ses share items``, ``get`` and ``put``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from ses_client.errors import NotFoundError

from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.commands.share.failures import explained
from ses.output import console, line, print_json, table

if TYPE_CHECKING:
    from ses.share.region import ItemFacts


@click.command(epilog=examples("ses share items results"))
@click.argument("region")
@json_option
def items(region: str, as_json: bool) -> None:
    """List the items of a region."""
    from ses.share import Region

    with explained(), Region.open(region) as opened:
        listed = opened.items()
    if as_json:
        print_json({"items": [asdict(item) | {"model": item.model.name.lower()} for item in listed]})
        return
    out = console()
    if not listed:
        line(out, "The region has no items.")
        return
    headers = ["item", "model", ">version", ">bytes", ">most", ">age (s)", ">lock held by"]
    rows = [
        [
            *(item.name, _model(item), str(item.version)),
            *(str(item.value_bytes), str(item.bytes), f"{item.value_age:.1f}" if item.version else ""),
            str(item.holder or ""),
        ]
        for item in listed
    ]
    table(out, headers, rows)


def _model(item: ItemFacts) -> str:
    allows = {"delta": f" ({item.versions} versions)", "temporal": f" ({item.age:g} s)"}
    name = item.model.name.lower()
    return name + allows.get(name, "")


@click.command(epilog=examples("ses share get results mean >mean.dat"))
@click.argument("region")
@click.argument("item")
def get(region: str, item: str) -> None:
    """Write the value of an item to standard output, as its coherence model allows."""
    from ses.share import Region

    with explained(), Region.open(region) as opened:
        value = opened.find(item).get()
    if value is None:
        raise NotFoundError(f"Nothing has been put into {item!r} yet.")
    sys.stdout.buffer.write(value.data)


@click.command(epilog=examples("ses share put results mean <mean.dat"))
@click.argument("region")
@click.argument("item")
def put(region: str, item: str) -> None:
    """Put standard input into an item; one that does not exist is made, as large as the value."""
    from ses.share import Region

    value = sys.stdin.buffer.read()
    with explained(), Region.open(region) as opened:
        opened.have(item, max(1, len(value))).put(value)
