"""``ses drain`` and ``ses undrain``: an element takes no further files, and takes them again."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.messages.message import JSON

from ses.commands.elements.changes import dry_run_option
from ses.commands.elements.effects import element_argument, show
from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.quantities import moment


@click.command(
    epilog=examples(
        "ses drain scratch/b3 --dry-run", "ses drain scratch/b3 --reason 'disk swap' --until 2030-12-01T08:00"
    )
)
@element_argument
@click.option("--reason", metavar="TEXT", help="Why; shown to users who ask why no file goes there.")
@click.option("--until", metavar="TIME", help="When it takes files again by itself: 2026-12-01T08:00.")
@dry_run_option
@service_command
def drain(
    client: ServiceClient, as_json: bool, element: str, reason: str | None, until: str | None, dry_run: bool
) -> None:
    """Let a storage element take no further files, such as before maintenance.

    Does it at once and says what depends on the element; --dry-run says the same and changes nothing.
    Files on it stay, and are read and written as before; ses migrate moves them.  Nodes hear of it within a
    second or two.  A time without a zone is local.  Administrators only; recorded, and ended by ses undrain
    or ses kb undo.  A site file that ses-service loads anew (serve --site) ends it, too, unless the file
    says qsm:Draining itself.
    """
    how: JSON = {"dry_run": dry_run}
    if reason:
        how["reason"] = reason
    if until:
        how["until"] = moment(until)
    end = f" until {how['until']}" if until else f"; ses undrain {element} ends it"
    show(client.drain(element, how), f"{element} takes no further files{end}.", as_json)


@click.command(epilog=examples("ses undrain scratch/b3"))
@element_argument
@dry_run_option
@service_command
def undrain(client: ServiceClient, as_json: bool, element: str, dry_run: bool) -> None:
    """Let a drained storage element take files again.

    Administrators only; recorded.
    """
    show(client.undrain(element, {"dry_run": dry_run}), f"{element} takes files again.", as_json)
