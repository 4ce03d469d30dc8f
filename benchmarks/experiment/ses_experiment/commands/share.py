"""``ses experiment share``: what a core of its own is worth to the agent that answers for shared values."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.demo.interrupts import Interrupts
from ses.demo.parts import built
from ses.output import console, line, number, print_json, table

from ses_experiment.commands import options
from ses_experiment.machine import load
from ses_experiment.papers import share as figure5
from ses_experiment.papers import share_programs as figure6
from ses_experiment.papers.curves import Panel, draw


@click.command(epilog=examples("ses experiment share --short"))
@click.option("--short", is_flag=True, help="Two sizes, one provider, one round.")
@click.option(
    "--providers", type=options.some_of(figure5.PROVIDERS), metavar="NAME,...",
    default="tcp,shm", show_default=True,
    help="Providers of libfabric: tcp, or shm, whose queues of requests lie in memory.",
)  # fmt: skip
@click.option("--sizes", type=options.NUMBERS, metavar="BYTES,...", help="Sizes of values.",
              default="8,1024,16384,65536", show_default=True)  # fmt: skip
@options.number("--calls", 300, "Puts and gets of each size in a round.", least=100)
@options.rounds(5, "Runs of each, in turns.")
@options.plot("Figure 5")
@options.build
@json_option
def share(
    short: bool, providers: tuple[str, ...], sizes: tuple[int, ...], calls: int, rounds: int,
    plot: Path | None, build: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Put and get another node's values, whose agent has a core of its own or not, beside a load.

    Figures 5 and 6 of OSU-CISRC-8/07-TR53: single calls, a select over records of four nodes, checkpoints of
    four processes. Needs root, two cores and munged; nodes are network namespaces.
    """
    if short:
        providers, sizes, calls, rounds = ("tcp",), (8, 16384), 200, 1
    agent = built(build) / "extras/share/ses-share-agent"
    before = load()

    def measured(
        interrupts: Interrupts, step: Callable[[str], None]
    ) -> tuple[list[figure5.Line], tuple[list[figure6.Select], list[figure6.Checkpoint]]]:
        calls_of = figure5.measure(agent, providers, sizes, calls, rounds, interrupts, step)
        records, steps = ((5000, 10000), 100 if short else 500)
        return calls_of, figure6.measure(agent, records, steps, 1 if short else rounds, interrupts, step)

    lines, (selects, checkpoints) = options.run(measured)
    less = {arm: figure5.less(lines, arm, figure5.PLAIN) for arm in figure5.ARMS[2:]}
    if as_json:
        print_json({
            "load": before, "lines": [asdict(row) for row in lines], "get_p99_less_than_plain": less,
            "selects": [asdict(row) for row in selects], "checkpoints": [asdict(row) for row in checkpoints],
        })  # fmt: skip
    else:
        _show(lines, less, selects, checkpoints)
    if plot is not None:
        draw(_figure5(lines), plot)


def _show(
    lines: Sequence[figure5.Line], less: Mapping[str, Mapping[str, float]],
    selects: Sequence[figure6.Select], checkpoints: Sequence[figure6.Checkpoint],
) -> None:  # fmt: skip
    out = console()
    headers = ("provider", "agent", "call", ">bytes", ">p50 us", ">p99 us", ">between us", ">load, cores")
    table(out, headers, [
        [row.provider, row.arm, row.operation, str(row.size), number(row.p50, 1), number(row.p99, 1),
         " to ".join(number(end, 1) for end in row.p99_between), number(row.busy, 2)]
        for row in lines
    ])  # fmt: skip
    for arm, of in less.items():
        shares = ", ".join(f"{provider} {share:.0%}" for provider, share in of.items())
        line(out, f"p99 of a get with {arm!r}, less than with {figure5.PLAIN!r}: {shares}.")
    table(out, ("agents", ">records", ">ms of a query"), [
        [row.arm, str(row.records), number(row.query_ms, 2)] for row in selects
    ])  # fmt: skip
    columns = ("agents", "line", ">checkpoint us", ">synchronising ms", ">total ms")
    table(out, columns, [_over_probabilities(checkpoints, *key) for key in _kinds(checkpoints)])


def _figure5(lines: Sequence[figure5.Line]) -> list[Panel]:
    panels = []
    for operation in (figure5.PUT, figure5.GET):
        drawn: dict[str, list[tuple[float, float]]] = {}
        for row in lines:
            if row.operation == operation:
                drawn.setdefault(f"{row.arm}, {row.provider}", []).append((row.size, row.p99))
        panels.append(Panel(f"{operation}()", "bytes", "99 of 100 calls, us", drawn, ("log", "log")))
    return panels


def _kinds(rows: Sequence[figure6.Checkpoint]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.arm, row.model) for row in rows))


def _over_probabilities(rows: Sequence[figure6.Checkpoint], arm: str, model: str) -> list[str]:
    same = [row for row in rows if (row.arm, row.model) == (arm, model)]
    columns = zip(*((row.checkpoint_us, row.synchronising_ms, row.total_ms) for row in same), strict=True)
    return [arm, model, *(number(statistics.median(column), 1) for column in columns)]
