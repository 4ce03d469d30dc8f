"""``ses experiment sort``: a two-pass external sort, predicted and then run."""

from __future__ import annotations

from dataclasses import asdict

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, number, print_json, table
from ses_client.errors import EXIT_FAILED

from ses_experiment.commands import options
from ses_experiment.machine import load
from ses_experiment.papers.two_pass import Near, Pass, measure


@click.command(epilog=examples("ses experiment sort --size 256"))
@options.number(
    "--size", 64, "What is sorted; of memory it has a quarter.", "MIB", 16, 1024, argument="megabytes"
)
@json_option
def sort(megabytes: int, as_json: bool) -> None:
    """Predict an external two-pass sort by the model of READ2, run it, and sort near the data.

    Needs root, a C compiler and openssl. The disk is a loop device of limited speed; four nodes of this
    machine sort near their data (ses map-near --shuffle), and what goes between them is counted.  Exits with
    1 when their output is not that of one sort.
    """
    before = load()
    passes, near = options.run(lambda interrupts, progress: measure(megabytes, interrupts, progress))
    predicted, measured = (
        sum(sort_pass.predicted for sort_pass in passes),
        sum(sort_pass.measured for sort_pass in passes),
    )
    if as_json:
        print_json({
            "load": before, "predicted": predicted, "measured": measured, "sent_for_each_byte": near.sent,
            "passes": [asdict(sort_pass) for sort_pass in passes], "near": asdict(near),
        })  # fmt: skip
    else:
        _show(passes, near, predicted, measured)
    if not near.same_output:
        raise SystemExit(EXIT_FAILED)


def _show(passes: list[Pass], near: Near, predicted: float, measured: float) -> None:
    out = console()
    table(out, ("pass", "binds", ">predicted s", ">measured s", ">error"), [
        [sort_pass.name, sort_pass.binding,
         number(sort_pass.predicted, 1), number(sort_pass.measured, 1), f"{sort_pass.error:+.0%}"]
        for sort_pass in passes
    ])  # fmt: skip
    line(
        out,
        f"In all {predicted:.1f} s predicted, {measured:.1f} s measured: {measured / predicted - 1:+.0%}.",
    )
    same = "the same as" if near.same_output else "NOT the same as"
    line(out, f"Near: {near.sent:.2f} bytes between nodes for each byte of output, {same} one sort's.")
