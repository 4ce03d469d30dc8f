"""``ses elements add``, ``set`` and ``remove``: what the site says of one element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import UsageError
from ses_client.messages.message import JSON

from ses.amounts import Rate, Size
from ses.commands.elements.effects import element_argument, show
from ses.commands.examples import examples
from ses.commands.options import service_command

_STATES = ("active", "degraded", "draining", "read-only", "inactive")

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")


def _facts(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--write", "write_rate", type=Rate(none=True), metavar="RATE",
                     help="Write rate of it idle: 300MB/s."),
        click.option("--read", "read_rate", type=Rate(none=True), metavar="RATE",
                     help="Read rate of it idle: 500MB/s."),
        click.option("--capacity", "capacity_bytes", type=Size(none=True), metavar="SIZE",
                     help="What it holds: 60TB, 1.5TiB."),
        click.option("--pool", metavar="NAME", help="Pool it is a member of; '' for none."),
        click.option("--tier", metavar="NAME", help="Class of its medium, such as flash; '' for none."),
        click.option("--label", metavar="TEXT", help="Name for people; '' for none."),
        click.option("--state", type=click.Choice(_STATES), help="State; ses drain says why and until when."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(epilog=examples("ses elements add scratch/b4 --server nas1 --target /srv/b4 --write 300MB/s"))
@element_argument
@click.option(
    "--target", required=True, help="Directory, of a branch or of a set, index of an OST, name of a pool."
)
@click.option("--server", required=True, help="Server of the element; added if it is not described.")
@_facts
@dry_run_option
@service_command
def add(
    client: ServiceClient, as_json: bool, element: str, dry_run: bool, **facts: str | float | None
) -> None:
    """Add an element to a storage system of the site.

    The file system must have it already; its server may be one that is not described yet.  Administrators
    only; recorded, and taken back by ses kb undo.
    """
    system, _, name = element.partition("/")
    answer = client.add_element({**_named(facts), "system": system, "name": name, "dry_run": dry_run})
    show(answer, f"{element} was added.", as_json)


@click.command("set", epilog=examples("ses elements set scratch/b4 --read 500MB/s --write 300MB/s"))
@element_argument
@click.option("--target", help="Directory, of a branch or of a set, index of an OST, name of a pool.")
@click.option("--server", help="Server of the element; added if it is not described.")
@_facts
@dry_run_option
@service_command
def set_command(
    client: ServiceClient, as_json: bool, element: str, dry_run: bool, **facts: str | float | None
) -> None:
    """Change what the site says of an element; what is not named stays.

    Administrators only; recorded, and taken back by ses kb undo.
    """
    changed = _named(facts)
    if not changed:
        raise UsageError("Nothing to set. Name at least one fact, such as --tier flash.")
    show(client.set_element(element, {**changed, "dry_run": dry_run}), f"{element} was changed.", as_json)


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


def _named(facts: Mapping[str, str | float | None]) -> JSON:
    """Return the facts that were named; an empty text says there is none."""
    return {name: None if fact == "" else fact for name, fact in facts.items() if fact is not None}
