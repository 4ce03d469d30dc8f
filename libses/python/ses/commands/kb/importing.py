"""``ses kb import``: a description of the site or of requirements, into the knowledge base."""

from __future__ import annotations

import base64
import gzip

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_FAILED, RefusedError, UsageError
from ses_client.messages.message import JSON

from ses.commands.examples import examples
from ses.commands.kb.changes import show_conflicts, show_subjects
from ses.commands.kb.validate import read_turtle
from ses.commands.options import service_command
from ses.output import console, line, print_json, say

_PLAIN = 200_000
"""Characters of a text that is sent as it is; a longer one is packed."""


@click.command(
    "import", epilog=examples("ses kb import site.ttl --dry-run", "ses kb import --replace site.ttl")
)
@click.argument("file", metavar="FILE")
@click.option(
    "--merge", "mode", flag_value="merge", default="merge", help="Replace what FILE states. [default]"
)
@click.option("--replace", "mode", flag_value="replace", help="Replace the parts FILE describes as a whole.")
@click.option(
    "--discovered",
    "mode",
    flag_value="discovered",
    help="FILE is from ses discover: keep what people changed.",
)
@click.option(
    "--prefer", type=click.Choice(["described", "discovered"]), default="described", show_default=True,
    help="With --discovered: which to keep where both changed.",
)  # fmt: skip
@click.option(
    "--format",
    "format_",
    type=click.Choice(["turtle", "trig"]),
    help="Format of FILE. [by its name, else turtle]",
)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@service_command
def import_command(
    client: ServiceClient,
    as_json: bool,
    file: str,
    mode: str,
    prefer: str,
    format_: str | None,
    dry_run: bool,
) -> None:
    """Import FILE (- is standard input) after checking it; shows what changes before changing it.

    Made as a whole or not at all, and recorded: ses kb history, ses kb undo.  With --merge, the properties
    FILE states of a subject replace those it had, the requirement sets in FILE replace those of the same
    name, and all else stays.  With --replace, what FILE describes (the site, the requirements or both)
    replaces all there is.  With --discovered, what people changed or added since the discovery before stays,
    and what they left follows the discovery; where both changed the same, both are shown.  Administrators
    only.  Exits with 1 when FILE is refused.

    A description the service was started with (ses-service serve --site) is loaded again only when that
    file changes, and then takes the place of what was imported; that, too, is in the history.
    """
    if prefer == "discovered" and mode != "discovered":
        raise UsageError("--prefer goes with --discovered.")
    asked = question(file, mode, format_) | {"prefer": prefer}
    out = console()
    large = "packed" in asked and not as_json
    try:
        _progress(large, f"Checking what {file} changes; a large site takes up to a minute ...")
        planned = client.import_knowledge(asked | {"dry_run": True})
        if not as_json:
            show_subjects(out, planned["subjects"], planned["total"])
            show_conflicts(out, planned["conflicts"])
        outcome = planned
        if not dry_run:
            _progress(large, f"Changing {planned['total']} subjects ...")
            outcome = client.import_knowledge(asked | {"revision": planned["revision"]})
    except RefusedError as error:
        _show_faults(error, file)
        raise click.exceptions.Exit(EXIT_FAILED) from error
    if as_json:
        print_json(outcome)
    elif not planned["total"]:
        line(out, "Nothing changes.")
    elif dry_run:
        line(out, f"{planned['total']} subjects would change; nothing was changed.")
    else:
        line(out, f"Changed {outcome['total']} subjects: change {outcome['change']}.")


def question(file: str, mode: str, format_: str | None = None) -> JSON:
    """Return what the service is asked for a file.  Raises SesError when it cannot be read."""
    text = read_turtle(file)
    asked: JSON = {"name": file[-256:] if file != "-" else "standard input", "mode": mode, "format": format_}
    if len(text) <= _PLAIN:
        return asked | {"text": text}
    return asked | {"packed": base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()}


def _progress(large: bool, text: str) -> None:
    """Say on standard error what takes long, so that nobody takes it for stuck."""
    if large:
        say(text, err=True)


def _show_faults(error: RefusedError, file: str) -> None:
    """Print each fault on its own line; raise the error again when it lists none."""
    if error.status != 422 or not error.faults:
        raise error
    for fault in error.faults:
        say(fault, err=True)
    say(f"Error: {file} is refused; nothing was changed.", err=True)
