"""``ses requirements suggest``: what a VO could require, by what its members state and get."""

from __future__ import annotations

import shlex

import click
from ses_client.client import ServiceClient

from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.output import console, line, number, print_json, table
from ses.quantities import written


@click.command(epilog=examples("ses requirements suggest --vo materials"))
@click.option("--vo", required=True, help="Virtual organisation.")
@service_command
def suggest(client: ServiceClient, as_json: bool, vo: str) -> None:
    """Work out what a VO could require for all its members, by what they state and what their files got.

    A member counts once for each kind.  What half of those state who state anything, two at least, is
    proposed: the middle of their bounds, or of what files got where that is less.  Nothing is stored; the
    command that stores it is printed.  For administrators.
    """
    answer = client.suggested_for_vo(vo)
    if as_json:
        print_json(answer)
        return
    out = console()
    if not answer.suggested:
        line(out, f"No member of {vo} states a requirement of their own.")
        return
    line(
        out,
        f"{answer.members} members of {vo} state requirements; looked at: its latest {answer.files} files.",
    )
    rows = [
        [
            entry.kind,
            str(entry.members),
            f"{number(entry.least)}, {number(entry.middle)}, {number(entry.most)} {entry.unit}",
            "-" if entry.got is None else f"{number(entry.got)} {entry.unit}, {entry.files} files",
            "too few state it" if entry.proposed is None else written(entry.proposed),
        ]
        for entry in answer.suggested
    ]
    table(out, ("kind", ">members", "least, middle, most", "files got", "proposed"), rows)
    kept = [written(requirement) for requirement in answer.stored.requirements]
    if kept:
        line(out, f"{vo} requires now: {', '.join(kept)}")
    proposed = [
        shlex.quote(written(entry.proposed)) for entry in answer.suggested if entry.proposed is not None
    ]
    if proposed:
        line(
            out,
            f"To store it in place of that: ses requirements set vo {shlex.quote(vo)} {' '.join(proposed)}",
        )
