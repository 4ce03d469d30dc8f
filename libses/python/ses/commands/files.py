"""``ses files``: what files received, and whether that is what was required."""

from __future__ import annotations

import sys
from itertools import chain

import click
from ses_client.client import ServiceClient
from ses_client.errors import UsageError

from ses.commands.examples import examples
from ses.commands.file_options import file_options
from ses.commands.options import service_command, wide_option
from ses.commands.unknown_names import explain_no_files
from ses.files import HEADERS, listed, row, write_csv
from ses.output import console, line, print_json, table


@click.command(epilog=examples("ses files --last 7d --verdict missed", "ses files --job 4711 --wide"))
@file_options
@click.option("--state", type=click.Choice(["open", "ended"]), help="Only these.")
@click.option(
    "--verdict",
    type=click.Choice(["met", "nearly", "missed", "cannot-say"]),
    help="Only these; nearly is at least 80 % of what was required.",
)
@click.option("--path", help="Only files whose path contains this text.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most files to list.")
@click.option("--all", "everything", is_flag=True, help="List all, without a limit.")
@wide_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@service_command
def files(
    client: ServiceClient,
    as_json: bool,
    as_csv: bool,
    asked: dict[str, str],
    state: str | None,
    verdict: str | None,
    path: str | None,
    limit: int,
    everything: bool,
    wide: bool,
) -> None:
    """List your files, the latest first: what was required, predicted and received.

    A verdict is there when a file ended: met, nearly, missed with the likely cause, or cannot say
    (docs/verdict.md).  Administrators see the files of others with --user and --everybody.
    """
    if as_csv and as_json:
        raise UsageError("Give --csv or --json, not both.")
    more = {"state": state, "verdict": verdict, "path": path}
    wanted = {**asked, **{name: value for name, value in more.items() if value is not None}}
    pages = listed(client, wanted, None if everything else limit)
    first = next(pages)
    if not first.files:
        explain_no_files(client, asked)
    pages = chain([first], pages)
    if as_csv:
        write_csv(sys.stdout, (file for page in pages for file in page["files"]))
        return
    if as_json:
        print_json({"files": [file for page in pages for file in page["files"]]})
        return
    shown = [file for page in pages for file in page.files]
    out = console(wide=wide)
    if not shown:
        line(out, "No file is known that this is true of.")
        return
    table(out, HEADERS, [row(file) for file in shown])
