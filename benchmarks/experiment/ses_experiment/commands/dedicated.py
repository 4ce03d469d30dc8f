"""``ses experiment dedicated``: what monitoring every few milliseconds does to a busy server."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import Number, json_option
from ses.demo.parts import built, first, on_path
from ses.output import console, line, number, print_json, table

from ses_experiment.commands import options
from ses_experiment.machine import load
from ses_experiment.papers import dedicated as runs
from ses_experiment.papers.curves import Panel, draw
from ses_experiment.papers.dedicated_programs import DEDICATED, SHARED, Programs


@click.command(epilog=examples("ses experiment dedicated --short"))
@click.option("--short", is_flag=True, help="16 servers and this node's sampler, at 1 and 16 ms, once.")
@click.option("--servers", type=options.NUMBERS, metavar="N,...",
              help="Servers that are watched, besides this node by its own sampler. [1,4,16,32]")  # fmt: skip
@click.option("--periods", type=options.NUMBERS, metavar="MS,...", help="Time between two readings. [1,4,16]")
@click.option("--seconds", type=Number(0.1), metavar="S", help="Length of a run. [2]")
@options.number("--clients", 1, "Clients that ask; as many as cores keep them all busy.", most=64)
@click.option("--sizes", type=options.NUMBERS, metavar="KIB,...", help="Sizes of the file. [16]")
@options.plot("Figures 7 to 9")
@click.option("--rounds", type=click.IntRange(1), metavar="N", help="Runs of each, in turns. [3]")
@options.build
@json_option
def dedicated(short: bool, plot: Path | None, build: Path | None, as_json: bool, **asked: Any) -> None:
    """Watch 1 to 32 servers every 1, 4 and 16 ms beside a web server under load, with a core for it or not.

    Needs nginx and two cores, no root. Prints the share of responses above 1.1 times the mean (the metric of
    OSU-CISRC-8/07-TR53), how p50 and p99 shift against no monitor on the same cores and on all, and
    the processor time of the monitor. Rows without a monitor compare two runs without one: that is noise.
    """
    grid = runs.SHORT if short else runs.Grid()
    grid = replace(grid, **{name: value for name, value in asked.items() if value})
    if asked["servers"]:
        grid = replace(grid, servers=(0, *grid.servers))
    programs = _programs(build)
    before = load()
    lines = options.run(lambda interrupts, progress: runs.measure(grid, programs, interrupts, progress))
    if as_json:
        print_json(
            {"load": before, "cores": len(runs.cores().every), "lines": [asdict(row) for row in lines]}
        )
    else:
        _show(lines, before)
    if plot is not None:
        draw(_traces(lines), plot, marker="")


def _show(lines: list[runs.Line], before: float) -> None:
    out = console()
    headers = ("monitor", ">servers", ">every ms", ">KiB", ">core %", ">mean us", ">over 1.1 own mean %",
               ">over 1.1 base %", ">p50 %", ">p99 %", ">between %", ">p50, all cores %",
               ">p99, all cores %")  # fmt: skip
    table(out, headers, [_row(row) for row in lines])
    line(out, f"Shifts are against no monitor, on the same cores and on all of them; load {before:.1f}.")


def _traces(lines: list[runs.Line]) -> list[Panel]:
    panels = []
    for way, title in ((SHARED, "RDMA-Sync"), (DEDICATED, "DC-RDMA-Sync")):
        of_way = {
            f"{row.servers or 'own'} servers, {row.period_ms} ms, {row.size_kib} KiB": list(
                enumerate(row.trace_us)
            )
            for row in lines
            if row.way == way
        }
        x = "iterations, in hundredths of the run"
        panels.append(Panel(title, x, "response, us", of_way, ("linear", "log")))
    return panels


def _row(row: runs.Line) -> list[str]:
    shares = (row.over, row.over_base, row.p50, row.p99)
    low, high = (number(100 * each, 1) for each in row.p99_between)
    servers = "" if row.period_ms == 0 else str(row.servers or "this node")
    every = str(row.period_ms or "")
    size, processor = str(row.size_kib), number(100 * row.processor, 1)
    return [row.way, servers, every, size, processor, number(row.mean_us, 1),
            *(number(100 * each, 1) for each in shares), f"{low} to {high}",
            *(number(100 * each, 1) for each in (row.equal_p50, row.equal_p99))]  # fmt: skip


def _programs(build: Path | None) -> Programs:
    sampler = built(build) / "extras/sampler"
    return Programs(
        first("nginx", "Install it: apt-get install nginx-light", on_path("nginx"), Path("/usr/sbin/nginx")),
        *(
            first(name, "Build it: make native", sampler / name, on_path(name))
            for name in ("smed-sampler", "smed-mirror")
        ),
    )
