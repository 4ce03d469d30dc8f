"""``ses elements add``, ``set`` and ``remove``: what the site says of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from ses_client.answers.reading import JSON
from ses_client.client import ServiceClient
from ses_client.errors import UsageError

from ses.commands.elements.effects import element_argument, show
from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.quantities import quantity

_STATES = ("active", "degraded", "draining", "read-only", "inactive")
_SIZES = {
    "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
    "KIB": 2.0**10, "MIB": 2.0**20, "GIB": 2.0**30, "TIB": 2.0**40, "PIB": 2.0**50,
}  # fmt: skip

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")


def _facts(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--write", "write_rate", metavar="RATE", help="Write rate of it idle: 300MB/s."),
        click.option("--read", "read_rate", metavar="RATE", help="Read rate of it idle: 500MB/s."),
        click.option("--capacity", "capacity_bytes", metavar="SIZE", help="What it holds: 60TB, 1.5TiB."),
        click.option("--pool", metavar="NAME", help="Pool it is a member of; '' for none."),
        click.option("--tier", metavar="NAME", help="Class of its medium, such as flash; '' for none."),
        click.option("--label", metavar="TEXT", help="Name for people; '' for none."),
        click.option("--state", type=click.Choice(_STATES), help="State; ses drain says why and until when."),
    ):
        command = option(command)
    return command


@click.command(epilog=examples("ses elements add scratch/b4 --server nas1 --target /srv/b4 --write 300MB/s"))
@element_argument
@click.option("--target", required=True, help="Directory of a branch, index of an OST, name of a pool.")
@click.option("--server", required=True, help="Server of the element; added if it is not described.")
@_facts
@dry_run_option
@service_command
def add(client: ServiceClient, as_json: bool, element: str, dry_run: bool, **facts: str | None) -> None:
    """Add an element to a storage system of the site.

    The file system must have it already; its server may be one that is not described yet.  Administrators
    only; recorded, and taken back by ses kb undo.
    """
    system, _, name = element.partition("/")
    made = client.add_element({**_said(facts), "system": system, "name": name, "dry_run": dry_run})
    show(made, f"{element} was added.", as_json)


@click.command("set", epilog=examples("ses elements set scratch/b4 --read 500MB/s --write 300MB/s"))
@element_argument
@click.option("--target", help="Directory of a branch, index of an OST, name of a pool.")
@click.option("--server", help="Server of the element; added if it is not described.")
@_facts
@dry_run_option
@service_command
def set_command(
    client: ServiceClient, as_json: bool, element: str, dry_run: bool, **facts: str | None
) -> None:
    """Change what the site says of an element; what is not named stays.

    Administrators only; recorded, and taken back by ses kb undo.
    """
    said = _said(facts)
    if not said:
        raise UsageError("Nothing to set. Name at least one fact, such as --tier flash.")
    show(client.set_element(element, {**said, "dry_run": dry_run}), f"{element} was changed.", as_json)


@click.command(epilog=examples("ses elements remove scratch/b4 --dry-run"))
@element_argument
@dry_run_option
@service_command
def remove(client: ServiceClient, as_json: bool, element: str, dry_run: bool) -> None:
    """Remove an element from the site, with its server if no other element needs that.

    Files on it stay where they are, and QStorMan knows of them no more: drain it first.  Administrators
    only; recorded, and taken back by ses kb undo.
    """
    show(client.remove_element(element, {"dry_run": dry_run}), f"{element} was removed.", as_json)


def _said(facts: dict[str, str | None]) -> JSON:
    """Return the facts that were named, sizes and rates in bytes; an empty text says there is none."""
    said: JSON = {}
    for name, text in facts.items():
        if text is None:
            continue
        if text == "":
            said[name] = None
        elif name in ("capacity_bytes", "read_rate", "write_rate"):
            said[name] = _bytes(text, per_second=name != "capacity_bytes")
        else:
            said[name] = text
    return said


def _bytes(text: str, *, per_second: bool) -> float:
    value, unit = quantity(text)
    size, slash, second = unit.partition("/")
    if size.upper() not in _SIZES or (per_second and second != "s") or (slash and not per_second):
        example = "300MB/s or 1.5GiB/s" if per_second else "60TB or 1.5TiB"
        raise UsageError(f"{text!r} is not a {'rate' if per_second else 'size'}. Write it like {example}.")
    if not 0 < value < float("inf"):
        raise UsageError(f"{text!r} is not more than nothing.")
    return value * _SIZES[size.upper()]
