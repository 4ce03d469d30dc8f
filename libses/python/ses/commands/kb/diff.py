"""``ses kb diff``: how two descriptions differ, whatever their layout."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_FAILED, SesError, UsageError
from ses_client.messages.message import JSON

from ses.commands.examples import examples
from ses.commands.kb.changes import show_subjects, turned
from ses.commands.kb.importing import question
from ses.commands.kb.validate import MISSING, read_turtle
from ses.commands.options import service_command
from ses.output import console, line, print_json

LIVE = "live"


@click.command(epilog=examples("ses kb diff live site.ttl"))
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@service_command
def diff(client: ServiceClient, as_json: bool, first: str, second: str) -> None:
    """Show what B adds to, removes from and changes in A, subject by subject.

    A and B are Turtle files, - (standard input) or live: the knowledge base, of which only the parts the file
    describes are compared (administrators only).  Order, layout, prefixes and the spelling of numbers make
    no difference.  Exits with 1 when there is a difference.  Two files are compared without a service;
    that needs its package beside this command.
    """
    if first == second:
        raise UsageError("A and B are the same; give two files, or a file and live.")
    if LIVE not in (first, second):
        differences = _of_files(first, second)
    else:
        asked = question(first if second == LIVE else second, "replace") | {"dry_run": True}
        answer = client.import_knowledge(asked)
        differences = turned(answer) if second == LIVE else answer
    total, subjects = differences["total"], differences["subjects"]
    if as_json:
        print_json({"different": bool(total), "total": total, "subjects": subjects})
    else:
        out = console()
        show_subjects(out, subjects, total)
        if not total:
            line(out, "No difference.")
    if total:
        raise click.exceptions.Exit(EXIT_FAILED)


def _of_files(first: str, second: str) -> JSON:
    try:
        from ses_service.api.render_changes import edits
        from ses_service.knowledge.errors import InvalidDescriptionError
        from ses_service.knowledge.exchange.incoming import differences_of
    except ModuleNotFoundError as error:
        raise SesError(f"{MISSING} ({error}).") from error
    try:
        differences = differences_of(*((read_turtle(name), name) for name in (first, second)))
    except InvalidDescriptionError as error:
        raise SesError(f"{error}.") from error
    return {"total": len(differences), "subjects": edits(differences)}
