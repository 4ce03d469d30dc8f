"""``ses experiment disc``: four endpoints against a desktop."""

from __future__ import annotations

from dataclasses import asdict

import click
from ses.commands.examples import examples
from ses.commands.near.options import COST
from ses.commands.options import json_option
from ses.near.price import Prices, ratio
from ses.output import console, number, print_json, table
from ses_client.errors import EXIT_FAILED

from ses_experiment.commands import options
from ses_experiment.machine import machine
from ses_experiment.papers import disc as discs

_SELECTIONS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


@click.command(epilog=examples("ses experiment disc --short"))
@click.option("--short", is_flag=True, help="64 MB on each endpoint and one selectivity; a minute or two.")
@click.option("--size", "sizes", type=options.NUMBERS, metavar="MB,...",
              help="Text on each endpoint: a quarter of the paper's. [32,150,256]")  # fmt: skip
@options.number("--memory", 175, "Memory of an endpoint, kept by a control group.", "MB", least=50)
@click.option("--cost", "prices", type=COST, metavar="desktop=PRICE,endpoint=PRICE",
              help="Compare price and performance too.")  # fmt: skip
@json_option
def disc(
    short: bool, sizes: tuple[int, ...] | None, memory: int, prices: Prices | None, as_json: bool
) -> None:
    """Run egrep and word counts on four slow endpoints, and in two ways on one fast node.

    One word count is of each endpoint's text, the other one of all of it, sorted between the endpoints.

    Needs root, openssh-server, sshfs and cgroup v1.  An endpoint has a disk of 40 MB/s and a fifth of a
    processor.  Exits with 1 when outputs differ.
    """
    sizes = sizes or ((64,) if short else (32, 150, 256))
    selections = _SELECTIONS[:1] if short else _SELECTIONS
    rows = options.run(
        lambda interrupts, progress: discs.measure(sizes, memory, selections, interrupts, progress)
    )
    if as_json:
        settings = {"endpoints": discs.ENDPOINTS, "megabytes": sizes, "memory_mb": memory,
                    "disk_mb_s": discs.DISK_RATE, "quota": discs.QUOTA,
                    "link_bit_s": discs.LINK_BITS}  # fmt: skip
        shown = [{**asdict(row), "price_performance": _ratios(row, prices)} for row in rows]
        print_json({"settings": settings, "machine": machine(), "rows": shown})
    else:
        headers = ("program", ">MB", ">lines %", ">near s", ">predicted", ">desktop s", ">distributed s",
                   "pays", ">peak MB", ">price, desktop", ">distributed")  # fmt: skip
        table(console(), headers, [_row(row, prices) for row in rows])
    if not all(row.same_output for row in rows):
        raise SystemExit(EXIT_FAILED)


def _ratios(row: discs.Row, prices: Prices | None) -> dict[str, float] | None:
    """Return the price-performance ratio near over that of the other arms; DiSC, section 3.4."""
    if prices is None:
        return None
    endpoints = discs.ENDPOINTS * prices.endpoint
    near = ratio(row.near, endpoints)
    return {
        "desktop": near / ratio(row.desktop, prices.desktop),
        "distributed": near / ratio(row.distributed, prices.desktop + endpoints),
    }


def _row(row: discs.Row, prices: Prices | None) -> list[str]:
    ratios = _ratios(row, prices) or {}
    return [
        row.program, str(row.megabytes), number(100 * row.selected), number(row.near, 2),
        number(row.near_predicted, 2), number(row.desktop, 2), number(row.distributed, 2),
        "yes" if row.pays else "no", number(row.peak, 0),
        number(ratios.get("desktop"), 2), number(ratios.get("distributed"), 2),
    ]  # fmt: skip
