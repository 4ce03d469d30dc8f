"""``ses experiment collision``: where files go that are created together."""

from __future__ import annotations

from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import Number, json_option
from ses.output import console, line, number, print_json, table
from ses_client.errors import EXIT_FAILED

from ses_experiment import collision as collisions
from ses_experiment.arms import PRODUCT, parse_arms
from ses_experiment.commands import options


@click.command(epilog=examples("ses experiment collision --users 1,8 --rounds 3"))
@click.option(
    "--users", "writers", type=options.NUMBERS, default="8", show_default=True, metavar="N,...",
    help="How many files are created together, each by a user of its own; a list such as 1,4,8,16.",
)  # fmt: skip
@click.option(
    "--process", "processes", type=options.some_of(collisions.PROCESSES), default="each", show_default=True,
    metavar="each,one",
    help="each: a process (dd) and a user for each file; one: one process (tee) of one user creates all; "
    "or both, separated by a comma.",
)  # fmt: skip
@options.number("--branches", 8, "Branches of the union, at least 2.", least=2, most=64)
@options.rounds(6)
@click.option(
    "--arm", "arms", multiple=True, default=(f"{PRODUCT},rand",), show_default=True, metavar="ARM,...",
    help="What is compared: default (the product as it comes), policies of mergerfs (rand, pfrd, mfs, lus), "
    "separated by commas, or NAME=OPTIONS: the product with further options of ses-agent. May be repeated.",
)  # fmt: skip
@options.number(
    "--size", 24, "Size of each file; more where many starts need it, so that all are open together.", "MIB",
    most=1000, argument="megabytes",
)  # fmt: skip
@click.option(
    "--gap", type=Number(0.0), default=0.1, show_default=True, metavar="SECONDS",
    help="Time between two starts.",
)  # fmt: skip
@options.number(
    "--nodes", 1, "Agents, each a node of its own: programs go round them, so that with --process one all "
    "but one node are idle.", most=64,
)  # fmt: skip
@options.threads
@options.seed
@options.build
@json_option
def collision(arms: tuple[str, ...], as_json: bool, **settings: Any) -> None:
    """Create files at almost the same moment on equal idle branches, and see whether they collide.

    Exits with 1 when an arm under the library does not spread them, and with 128 and the signal's number
    when stopped by one.  Of 8 files on 8 branches, the promise is at least 7 distinct branches and at most
    1.5 files on the fullest, on average; for N files on B branches 7/8 of the smaller number, and the
    smallest whole number not below N/B, plus 0.5.
    """
    plan = collisions.Plan(parse_arms(arms), **settings)
    report = options.run(lambda interrupts, progress: collisions.collide(plan, interrupts, progress))
    if as_json:
        print_json(report.as_json())
    else:
        _show_collision(report)
    if not report.holds:
        raise SystemExit(EXIT_FAILED)


def _show_collision(report: collisions.Report) -> None:
    out = console()
    rows = [
        [
            summary.process,
            str(summary.writers),
            summary.arm,
            str(summary.rounds),
            number(summary.distinct),
            number(summary.most),
            number(summary.mean_seconds, 2),
            number(summary.last_seconds, 2),
            "-" if summary.holds is None else "yes" if summary.holds else "NO",
        ]
        for summary in report.summaries
    ]
    columns = "process,>files,arm,>rounds,>distinct,>most on one,>mean s,>last s,holds"
    table(out, columns.split(","), rows)
    line(out, report.sentence)
