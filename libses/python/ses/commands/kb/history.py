"""``ses kb history`` and ``ses kb undo``: who changed the knowledge base, and taking it back."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import datetime

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import UsageError
from ses_client.messages.message import JSON

from ses.columns import Column
from ses.commands.examples import examples
from ses.commands.kb.changes import short, show_subjects
from ses.commands.options import service_command
from ses.output import console, line, print_json, table


@click.command(epilog=examples("ses kb history --subject user/alice", "ses kb history 42"))
@click.argument("number", required=False, type=click.IntRange(1), metavar="[CHANGE]")
@click.option(
    "--subject", metavar="S", help="Only changes of this: user/alice, vo/materials, or an IRI of the site."
)
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@service_command
def history(
    client: ServiceClient, as_json: bool, number: int | None, subject: str | None, limit: int
) -> None:
    """List the changes of site and requirements, or show what one CHANGE did.

    Each with its number, when, who, what and why, the latest first.  The service keeps the last 1,000.
    """
    if number is not None and subject is not None:
        raise UsageError("--subject goes with the list, not with one CHANGE.")
    if number is not None:
        states = list(_states(client, number))
        if as_json:
            print_json({"number": number, "states": states})
        else:
            _show_states(console(), states)
        return
    changes: list[JSON] = []
    before = None
    while len(changes) < limit:
        page = client.changes(before=before, subject=subject)
        changes += page["changes"]
        before = page["next"]
        if before is None:
            break
    if as_json:
        print_json({"changes": changes[:limit]})
    elif not changes:
        line(console(), "No change is recorded.")
    else:
        rows = [
            [str(change["number"]), _when(change["at"]), change["author"], _what(change), change["reason"]]
            for change in changes[:limit]
        ]
        table(console(), _HEADERS, rows)


@click.command(epilog=examples("ses kb undo 42 --dry-run"))
@click.argument("number", type=click.IntRange(1), metavar="CHANGE")
@click.option("--force", is_flag=True, help="Also when what it left was changed again: that is lost then.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@service_command
def undo(client: ServiceClient, as_json: bool, number: int, force: bool, dry_run: bool) -> None:
    """Put back what was there before a CHANGE, by a further change.

    Refused when a later change concerned the same subject and is still in place.  A person may undo
    changes of their own requirements, an administrator any.
    """
    answer = client.undo(number, force=force, dry_run=dry_run)
    if as_json:
        print_json(answer)
        return
    out = console()
    show_subjects(out, answer["subjects"], answer["total"])
    if not answer["total"]:
        line(out, "Nothing changes: all is as it was before already.")
    elif dry_run:
        line(out, f"{answer['total']} subjects would change; nothing was changed.")
    else:
        line(out, f"Undone by change {answer['change']}.")


_HEADERS = (
    Column("change", right=True),
    Column("when", wraps=True),
    Column("who"),
    Column("what", path=True),
    Column("why", wraps=True),
)


def _states(client: ServiceClient, number: int) -> Iterator[JSON]:
    after = ""
    while True:
        page = client.change(number, after=after)
        yield from page["states"]
        if page["next"] is None:
            return
        after = page["next"]


def _show_states(out: Console, states: list[JSON]) -> None:
    for state in states:
        line(out, short(state["subject"]))
        before, after = ((state[side] or "").splitlines() for side in ("before", "after"))
        for text in difflib.unified_diff(before, after, lineterm="", n=0):
            if text[:3] not in ("---", "+++") and text[:2] != "@@" and text[1:].strip():
                line(out, f"    {text[0]} {text[1:].strip()}")


def _when(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text


def _what(change: JSON) -> str:
    more = f" and {change['subjects'] - 1} more" if change["subjects"] > 1 else ""
    return short(change["subject"]) + more
