"""``ses experiment read2``: what a path past the owner of a disk saves."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click
from ses.commands.examples import examples
from ses.commands.options import Existing, json_option
from ses.demo.interrupts import Interrupts
from ses.output import console, line, number, print_json, table
from ses_client.errors import SesError

from ses_experiment.commands import options
from ses_experiment.papers.curves import Panel, draw
from ses_experiment.papers.read2 import ALONE, ARMS, DISK, NOTHING, SENDFILE, Line, Run, compare, cost, lines


@click.command(epilog=examples("ses experiment read2 --allowed 100,400"))
@click.option(
    "--allowed", type=options.NUMBERS, default="100,200,400,800", show_default=True, metavar="MB/S,...",
    help="Rates the disk may have; without limit is always added.",
)  # fmt: skip
@options.number(
    "--size", 256, "What each run moves; it is kept in memory.", "MIB", most=4096, argument="megabytes"
)
@options.rounds(3, "Runs of each, in turns.")
@click.option(
    "--filter", "filters", is_flag=True,
    help="Run a filter on each core meanwhile, and show what it reads (Figure 4).",
)  # fmt: skip
@click.option(
    "--directory", type=Existing(file_okay=False),
    help="Where the file is made. [the directory of temporary files]",
)  # fmt: skip
@options.plot("Figures 3 and 4")
@json_option
def read2(
    allowed: tuple[int, ...],
    megabytes: int,
    rounds: int,
    filters: bool,
    directory: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Transpose a matrix that lies on another node's disk: by the owner, or past it (RR-4401, Figure 3).

    Needs neither root nor a service. Two processes of this machine stand for two nodes. What counts is the
    processor time for each GB, which a busy machine changes little; the rates say how the paths differ here.
    """
    rates = [float(rate) * 1e6 for rate in allowed] + [0.0]
    file = (directory or Path(tempfile.gettempdir())) / f".ses-read2-{secrets.token_hex(8)}"
    runs: list[Run] = []

    def measure(interrupts: Interrupts, step: Callable[[str], None]) -> None:
        size, check = megabytes * 2**20, interrupts.check
        with closing(compare(file, size, rates, rounds, filters, check)) as measured:
            for transfer in measured:
                runs.append(transfer)
                step(f"{transfer.arm}, {_allowed(transfer.allowed)}: {transfer.rate / 1e6:.0f} MB/s")
                check()

    try:
        options.run(measure)
    except OSError as error:
        raise SesError(f"The experiment broke off: {error}.") from None
    medians = lines(runs)
    costs = {arm: cost(runs, arm) * 1e9 for arm in ARMS}
    less = 1 - costs[DISK] / costs[NOTHING]
    if as_json:
        print_json({"lines": [asdict(row) for row in medians], "cpu_seconds_per_gb": costs, "less": less})
    else:
        _show(medians, costs, less, filters)
    if plot is not None:
        draw(_figures(medians, filters), plot)


def _show(medians: list[Line], costs: dict[str, float], less: float, filters: bool) -> None:
    out = console()
    rows = [
        [_allowed(row.allowed), row.arm, number(row.rate / 1e6),
         number(row.cpu_per_byte * 1e9, 2), number(row.filtered / 1e6)]
        for row in medians
    ]  # fmt: skip
    headers = (">allowed", "path", ">consumed MB/s", ">processor s/GB", ">filter MB/s")
    kept = len(headers) if filters else -1
    table(out, headers[:kept], [row[:kept] for row in rows])
    path = {arm: costs[arm] - costs[ALONE] for arm in (NOTHING, SENDFILE, DISK)}
    line(out, f"Shared disk: {less:.0%} less processor time for each GB than shared nothing.")
    seconds_per_gb = ", ".join(f"{arm} {value:.2f}" for arm, value in path.items())
    line(out, f"Of the path alone, without the transposition, processor s/GB: {seconds_per_gb}.")


def _figures(medians: list[Line], filters: bool) -> list[Panel]:
    rows = {path: [row for row in medians if row.arm == path] for path in (NOTHING, SENDFILE, DISK)}
    consumed = {
        path: [(row.allowed / 1e6, row.rate / 1e6) for row in of if row.allowed] for path, of in rows.items()
    }
    panels = [Panel("Figure 3", "allowed, MB/s", "consumed, MB/s", consumed)]
    if filters:
        left = {path: [(row.rate / 1e6, row.filtered / 1e9) for row in of] for path, of in rows.items()}
        panels.append(Panel("Figure 4", "consumed, MB/s", "read by filters, GB/s", left))
    return panels


def _allowed(rate: float) -> str:
    return f"{rate / 1e6:.0f} MB/s" if rate else "no limit"
