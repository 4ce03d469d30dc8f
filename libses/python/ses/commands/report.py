"""``ses report``: how often files received what was required."""

from __future__ import annotations

import time
from pathlib import Path

import click
from ses_client.client import ServiceClient
from ses_client.messages.files import Sum, cause_words

from ses.commands.examples import examples
from ses.commands.file_options import file_options
from ses.commands.options import service_command
from ses.commands.unknown_names import explain_no_files
from ses.output import console, line, print_json, table, write_file
from ses.report import hour, page

_MAX_ROWS = 10
_HEADERS = (
    ">files",
    ">met",
    ">nearly",
    ">missed",
    ">cannot say",
    ">met of judged",
    ">short by",
    ">got of predicted",
)


@click.command(epilog=examples("ses report --last 7d", "ses report --everybody --html report.html"))
@file_options
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one page that needs nothing else, with pictures.",
)
@service_command
def report(client: ServiceClient, as_json: bool, asked: dict[str, str], html: Path | None) -> None:
    """Say how often files received what was required, where not, and what would help.

    By application, job, element and hour, and by user and VO where there are several, the worst first: of
    your files, or with --everybody of all that you may see.  Got of predicted: the mean of the rate a file
    got over the one predicted when it was created, and of how many files; of a whole program ses advise
    --last compares its time, too.
    """
    summed = client.report(asked)
    if not summed.total.files:
        explain_no_files(client, asked)
    if html is not None:
        about = ", ".join(f"{name} {value}" for name, value in sorted(asked.items()) if name != "since")
        write_file(html, page(summed, about or "all files", time.time()))
    if as_json:
        print_json(summed)
        return
    out = console()
    table(out, ("", *_HEADERS), [_row(summed.total)])
    if not summed.complete:
        line(out, "Only the latest files were looked at; ask for less with --last, --job or --element.")
    sums_by = [
        ("application", "program", summed.applications),
        ("job", "job", summed.jobs),
        ("element", "element", summed.elements),
    ]
    several = [("user", "user", summed.users), ("VO", "VO", summed.vos)]
    sums_by += [group for group in several if len(group[2]) > 1]
    for title, header, sums in sums_by:
        line(out, f"\nBy {title}, worst first:")
        table(out, (header, *_HEADERS), [_row(total) for total in sums[:_MAX_ROWS]])
    worst = sorted(summed.hours, key=lambda each: -each.shortfall * (each.files - each.cannot_say))[
        :_MAX_ROWS
    ]
    line(out, "\nBy hour, worst first:")
    table(out, ("hour", *_HEADERS), [_row(total, hour(total)) for total in worst])
    if summed.causes:
        line(out)
        causes = ", ".join(f"{cause_words(cause.cause)} {cause.files}" for cause in summed.causes)
        line(out, f"Likely causes: {causes}.")
    for text in summed.advice:
        line(out, f"  {text}")


def _row(total: Sum, name: str | None = None) -> list[str]:
    ratio = "-" if total.met_ratio is None else f"{total.met_ratio:.0%}"
    numbers = (total.files, total.met, total.nearly, total.missed, total.cannot_say)
    got = "-" if total.of_forecast is None else f"{total.of_forecast:.0%} ({total.forecast_files})"
    short = "-" if total.met_ratio is None else f"{total.shortfall:.0%}"
    return [name or total.name or "-", *map(str, numbers), ratio, short, got]
