"""``ses experiment orca``: near the data against over the network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, number, print_json, table
from ses_client.errors import EXIT_FAILED
from ses_simulate.command import PICTURE

from ses_experiment.commands import options
from ses_experiment.papers import orca as orcas
from ses_experiment.papers.orca_pictures import draw
from ses_experiment.papers.storage_node import KINDS

_ENOUGH = 0.95


@click.command(epilog=examples("ses experiment orca --short"))
@click.option("--short", is_flag=True, help="One size and one repetition; some minutes.")
@click.option(
    "--size", "sizes", type=options.NUMBERS, metavar="MB,...", help="Sizes of the file. [64,256,512]"
)
@click.option("--clients", type=options.NUMBERS, default="1,2,4,8", show_default=True, metavar="N,...",
              help="Clients that share the storage node's link.")  # fmt: skip
@click.option("--program", "programs", metavar="PROGRAM,...",
              type=options.some_of((*orcas.Grid().programs, *orcas.FURTHER, orcas.SERVER)),
              help="Which programs; server: eight queries of a PostgreSQL. [the paper's five]")  # fmt: skip
@click.option("--repeat", "repeats", type=click.IntRange(1), metavar="N",
              help="Runs of each way, of which the fastest counts. [3]")  # fmt: skip
@click.option("--kind", "kinds", type=options.some_of(tuple(KINDS)), default="alike", show_default=True,
              metavar="KIND,...",
              help="Storage nodes: alike (as clients), unlike (130 MB/s, a third of a core).")  # fmt: skip
@click.option("--link", "links", type=options.NUMBERS, default="1000", show_default=True, metavar="MBIT,...",
              help="Rates of the link, in Mb/s.")  # fmt: skip
@click.option("--service", is_flag=True, help="Measure what another service of the storage node loses, too.")
@click.option("--plot", type=PICTURE, metavar="FILE",
              help="Draw times, bytes and processor over time (PNG or SVG).")  # fmt: skip
@click.option("--shared-disk", is_flag=True, help="Clients share one disk; else each has one of its own.")
@options.build
@json_option
def orca(short: bool, plot: Path | None, build: Path | None, as_json: bool, **asked: Any) -> None:
    """Run five programs near disks of 107 MB/s, and over a link of 1 Gb/s that clients share.

    They are grep, wc, sort, an inverted index by awk, and the scan of a table by PostgreSQL, if that is
    installed.  Near, those of all clients run at once.  Needs root, openssh-server and sshfs.  Prints both
    times, the bytes on the wire, CPU seconds on the storage node, and whether the decision of ses run-near
    was right: at most 10 % slower than the other way.  Exits with 1 when fewer than 95 % are, or outputs
    differ.  server asks eight queries of a PostgreSQL server, whose tables near_fdw reads near, or file_fdw
    over the link: there is nothing to decide.
    """
    grid = orcas.SHORT if short else orcas.Grid()
    grid = replace(grid, **{name: value for name, value in asked.items() if value})
    cells = options.run(lambda interrupts, progress: orcas.measure(grid, build, interrupts, progress))
    right = orcas.right_share(cells)
    if as_json:
        print_json(orcas.as_json(grid, cells))
    else:
        headers = ("program", ">MB", "nodes", ">Mb/s", ">clients", "choice", "right", ">near s",
                   ">predicted", ">here s", ">predicted", ">saved %", ">wire near", ">wire here",
                   ">CPU near")  # fmt: skip
        table(console(), headers, [_row(cell) for cell in cells])
        decided = sum(1 for cell in cells if cell.choice)
        decisions = (
            "Nothing was to be decided" if right is None else f"{right:.0%} of {decided} decisions are right"
        )
        line(
            console(),
            f"{decisions}; near saves {orcas.saved_mean(cells):.0f} % of the time, on average of all.",
        )
    if plot is not None:
        draw(cells, plot)
    if (right is not None and right < _ENOUGH) or not all(cell.same_output for cell in cells):
        raise SystemExit(EXIT_FAILED)


def _row(cell: orcas.Cell) -> list[str]:
    return [
        cell.program, str(cell.megabytes), cell.kind, str(cell.link), str(cell.clients),
        *(("-", "-") if not cell.choice else (cell.choice, "yes" if cell.right else "NO")),
        number(cell.near_seconds, 2), number(cell.near_predicted, 2),
        number(cell.here_seconds, 2), number(cell.here_predicted, 2),
        number(100 * (1 - cell.near_seconds / cell.here_seconds), 0),
        number(cell.near_wire / 1e6, 2), number(cell.here_wire / 1e6, 1),
        number(cell.near_cpu, 2),
    ]  # fmt: skip
