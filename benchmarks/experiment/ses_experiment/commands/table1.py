"""``ses experiment table1``: the paper's Table 1 live, and simulated beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.output import console, line, number, print_json, table
from ses_simulate.command import PICTURE, RunProgress
from ses_simulate.processes import processors
from ses_simulate.rows import shown

from ses_experiment.arms import agent_options
from ses_experiment.background import LOADS
from ses_experiment.commands import options
from ses_experiment.papers.qstorman.figures import draw_paper
from ses_experiment.papers.qstorman.pictures import draw
from ses_experiment.papers.qstorman.schedule import BASELINES, ROUND_ROBIN
from ses_experiment.papers.qstorman.simulated import Simulated, simulated, site
from ses_experiment.papers.qstorman.statistics import Comparison, agrees, as_json, comparisons, lone
from ses_experiment.papers.qstorman.table1 import Plan, measure
from ses_experiment.papers.qstorman.table1_rows import side_by_side
from ses_experiment.papers.qstorman.table1_users import FULL, PAPER, SHORT

_SHORT = {"users": (8,), "backgrounds": ("none", "skewed"), "repeats": 3}
_FULL = {"users": (6, 8, 10), "backgrounds": tuple(LOADS), "repeats": 5}
_PAPER = {"users": (6, 8, 10), "backgrounds": ("none",), "repeats": 20, "kinds": ("half",)}
_SIMULATED_SEEDS = 20


@click.command(epilog=examples("ses experiment table1 --short --resume runs.jsonl"))
@click.option(
    "--users",
    type=options.NUMBERS,
    metavar="N,...",
    help="How many users there are. [6,8,10; with --short 8]",
)
@click.option(
    "--background", "backgrounds", type=options.some_of(tuple(LOADS)), metavar="NAME,...",
    help="What others do: none, uniform, skewed. [all; with --short none,skewed]",
)  # fmt: skip
@click.option(
    "--baseline", "baselines", type=options.some_of(BASELINES), metavar="NAME,...",
    help=f"Against what: {', '.join(BASELINES)}. [random,{ROUND_ROBIN}; with --paper random]",
)  # fmt: skip
@click.option(
    "--repeat", "repeats", type=click.IntRange(1), metavar="N",
    help="Repetitions. [5; with --short 3, with --paper 20]",
)  # fmt: skip
@click.option("--short", is_flag=True, help="Smaller files, and less of them: about a quarter of an hour.")
@click.option(
    "--paper", is_flag=True,
    help="As in the paper: 50 files of each user, of 1 to 50 parts, half of the users supported. Rows run "
    "side by side, each on branches of its own: 20 minutes.",
)  # fmt: skip
@options.resume
@click.option("--agent-options", "agent", default="", metavar="OPTIONS", help="Further options of ses-agent.")
@click.option(
    "--plot", "picture", type=PICTURE, metavar="FILE",
    help="Also draw the results, as FILE.png or FILE.svg.",
)  # fmt: skip
@options.threads
@options.seed
@options.build
@json_option
def table1(
    short: bool,
    paper: bool,
    resume: Path | None,
    agent: str,
    picture: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Repeat Table 1 of the QStorMan paper with real programs, and simulate the same beside it.

    Users read, compute and write at the same time on eight branches of 25 MB/s for readers and 15 MB/s for
    writers; half of them, all or none run under the library. Prints how much time is saved, with
    95 % intervals, and what the simulator says of the same site; A/A compares halves that are placed
    alike, so it shows what is noise. How long it will take is printed first. Each finished run is kept in a
    file of JSON lines, with its load averages and a hash of settings and build; with --resume runs in the
    file are not run again.
    """
    if short and paper:
        raise click.UsageError("Take --short or --paper, not both.")
    stated = {key: value for key, value in settings.items() if value is not None}
    chosen = {
        "baselines": ("random",) if paper else ("random", ROUND_ROBIN),
        **(_PAPER if paper else _SHORT if short else _FULL),
        **stated,
    }
    if min(chosen["users"]) < 2:
        raise click.BadParameter("there must be two users to compare halves", param_hint="--users")
    form = PAPER if paper else SHORT if short else FULL
    plan = Plan(form=form, agent=agent_options(agent), **chosen)
    file = options.kept_in(resume, "table1")
    if paper and len(plan.users) > 1:
        rows = ["--paper", "--agent-options", agent, *_arguments(stated)]
        options.run(lambda interrupts, progress: side_by_side(plan.users, rows, file, interrupts, progress))
    results, machine = options.run(lambda interrupts, progress: measure(plan, file, interrupts, progress))
    done = results.among(plan.runs())
    compared = comparisons(done)
    beside = _simulate(plan, compared)
    alone = lone(done, plan.form.ideal_seconds)
    if as_json:
        facts = _as_json(compared, beside, alone, plan.form.ideal_seconds)
        print_json({"settings": results.settings, "machine": machine, "runs": str(file), **facts})
    else:
        _show(compared, beside, alone, plan.form.ideal_seconds)
    if picture is not None:
        draw_paper(compared, done, picture) if paper else draw(compared, beside, picture)


def _arguments(stated: Mapping[str, Any]) -> list[str]:
    """Return the options of the rows, which have one number of users each."""
    names = {"backgrounds": "background", "baselines": "baseline", "repeats": "repeat"}
    return [
        f"--{names.get(name, name)}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in stated.items()
        if name != "users"
    ]


def _simulate(plan: Plan, compared: list[Comparison]) -> Mapping[tuple[str, int, str, str], Simulated]:
    return simulated(compared, site(plan.form, plan.shape), _SIMULATED_SEEDS, processors(), RunProgress())


def _as_json(
    compared: list[Comparison],
    beside: Mapping[tuple[str, int, str, str], Simulated],
    alone: Mapping[str, float],
    ideal: float,
) -> dict[str, Any]:
    rows = []
    for comparison in compared:
        row = as_json(comparison)
        twin = beside.get(comparison.cell)
        if twin is not None:
            row["simulated"] = {
                "gain": twin.gain.mean, "low": twin.gain.low, "high": twin.gain.high, "seconds": twin.seconds,
                "baseline_seconds": twin.baseline_seconds,
                "agrees": agrees(comparison.gain, twin.gain),
            }  # fmt: skip
        rows.append(row)
    return {"ideal_seconds": ideal, "lone_over_ideal": dict(alone), "comparisons": rows}


def _show(
    compared: list[Comparison],
    beside: Mapping[tuple[str, int, str, str], Simulated],
    alone: Mapping[str, float],
    ideal: float,
) -> None:
    rows = []
    for comparison in compared:
        twin = beside.get(comparison.cell)
        met = None if twin is None else agrees(comparison.gain, twin.gain)
        rows.append(
            [
                comparison.background,
                str(comparison.users),
                comparison.who,
                comparison.baseline,
                str(comparison.repeats),
                number(comparison.seconds),
                number(comparison.baseline_seconds),
                shown(comparison.gain),
                "-" if twin is None else shown(twin.gain),
                "-" if met is None else "yes" if met else "NO",
            ]
        )
    out = console()
    columns = "background,>users,who,against,>runs,>seconds,>against s,>saved %,>simulated %,agree"
    table(out, columns.split(","), rows)
    line(out, f"A user alone needs {ideal:.1f} s at the rates of the branches.")
    for who, part in alone.items():
        how = "with the library" if who == "library" else "without it"
        line(out, f"Measured {how}: {part:.3f} of that.")
