"""``ses elements list``: every place a file can go, and what it would give a stream that starts now."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.elements import Element

from ses.columns import Column
from ses.commands.examples import examples
from ses.commands.options import service_command, wide_option
from ses.commands.unknown_names import must_be_system
from ses.output import console, number, print_json, seconds, table
from ses.union.held import held_here


@click.command("list", epilog=examples("ses elements list --system scratch"))
@click.option("--system", help="Only the elements of this storage system.")
@wide_option
@service_command
def list_command(client: ServiceClient, as_json: bool, system: str | None, wide: bool) -> None:
    """List the storage elements with their load and what a stream would get (MB/s, GB).

    On a node whose union ses apply steers, also which branches are held back there, and why.
    """
    inventory = client.elements()
    shown = [element for element in inventory.elements if system in (None, element.storage_system)]
    if system is not None and not shown:
        must_be_system(client, system)
        raise NotFoundError(f"The storage system {system} has no elements.")
    if not shown:
        raise NotFoundError("The site describes no elements.")
    unions = {element.mount_point for element in shown if element.backend == "mergerfs"}
    held = held_here(sorted(unions))
    why = {element.id: held[element.target] for element in shown if element.target in held}
    if as_json:
        facts = [
            {**element, "held_back": why.get(element["id"])}
            for element in inventory["elements"]
            if system in (None, element["storage_system"])
        ]
        print_json({**inventory, "elements": facts})
        return
    table(console(wide=wide), _HEADERS, [_row(element, why.get(element.id)) for element in shown])


_MAX_NODES = 3  # that are named, of those that exclude an element

_HEADERS = (
    Column("element"),
    Column("state", wraps=True),
    Column("would read", right=True),
    Column("would write", right=True),
    Column("reads now", right=True, leaves=4),
    Column("writes now", right=True, leaves=3),
    Column("free GB", right=True),
    Column("open", right=True, leaves=1),
    Column("data age", right=True, leaves=2),
)


def _row(element: Element, held_back: str | None) -> list[str]:
    seen = element.observation
    flags = () if seen is None else seen.flags
    held = [] if held_back is None else [f"held back here: {held_back}".removesuffix(": ")]
    excluded = map(str, element.excluded[:_MAX_NODES])
    return [
        element.id,
        ", ".join(dict.fromkeys([element.state, *flags, *excluded, *held])),
        f"{number(element.available.read_mb_s)} of {number(element.nominal.read_mb_s, 0)}",
        f"{number(element.available.write_mb_s)} of {number(element.nominal.write_mb_s, 0)}",
        _scaled(None if seen is None else seen.read_bytes_per_second.current, 1e6, 1),
        _scaled(None if seen is None else seen.write_bytes_per_second.current, 1e6, 1),
        _scaled(None if seen is None else seen.free_bytes, 1e9, 2),
        str(element.open_placements),
        "none" if seen is None or seen.state == "missing" else seconds(seen.age_seconds),
    ]


def _scaled(value: float | None, unit: float, digits: int) -> str:
    return number(None if value is None else value / unit, digits)
