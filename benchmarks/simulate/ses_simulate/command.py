"""``ses simulate``: how placement rules fare in a model, with the service's own decision among them."""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from ses.commands.examples import examples
from ses.commands.groups import WholeSentences
from ses.commands.options import Number, Parsed, json_option
from ses.output import console, line, number, print_json, table
from ses_service.ledger.pace import Use

from ses_simulate import hard_study, table1_study
from ses_simulate.agents import Costs, Loss, come_back
from ses_simulate.plot import picture_file, plot
from ses_simulate.policies import RULES
from ses_simulate.policies.variants import VARIANTS
from ses_simulate.processes import processors
from ses_simulate.rows import Row, shown
from ses_simulate.scenarios import SCENARIOS
from ses_simulate.table1 import BACKGROUNDS, USERS
from ses_simulate.table1 import SAYS as BACKGROUNDS_SAY

PICTURE = Parsed("picture", picture_file)
"""A file for a picture; what it cannot be is said before anything is run."""
_PROGRESS_EVERY = 2.0


_OPTIONS = (
    click.option(
        "--plot", "picture", type=PICTURE, metavar="FILE",
        help="Also draw the results, as FILE.png or FILE.svg.",
    ),
    json_option,
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Processes to run in. [as many as processors]"
    ),
    click.option(
        "--scenario", "scenarios", multiple=True, metavar="NAME",
        help="Only this scenario; may be repeated.",
    ),
    click.option(
        "--policy", "policies", multiple=True, metavar="NAME", help="Only this rule; may be repeated."
    ),
    click.option(
        "--seeds", type=click.IntRange(1), default=20, show_default=True, metavar="N",
        help="Independent repetitions.",
    ),
)  # fmt: skip


class _Listing(click.Command):
    """A command whose help lists the scenarios and rules of the simulator."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each."""
        super().format_epilog(ctx, formatter)
        hard = {name: entry.says for name, entry in SCENARIOS.items()}
        for title, says in (
            ("Scenarios", BACKGROUNDS_SAY if self.name == "table1" else hard),
            ("Rules (--policy)", {name: says for name, (_, says) in RULES.items()}),
        ):
            with formatter.section(title):
                formatter.write_dl(list(says.items()))


def _study(names: Iterable[str]) -> Callable[[Callable[..., list[Row]]], Callable[..., None]]:
    """Make a command of what returns rows of these scenarios: with its options, and showing the rows."""

    def command_of(study: Callable[..., list[Row]]) -> Callable[..., None]:
        @functools.wraps(study)
        def run(
            *,
            scenarios: tuple[str, ...],
            policies: tuple[str, ...],
            jobs: int | None,
            as_json: bool,
            picture: Path | None,
            **rest: Any,
        ) -> None:
            rows = study(
                scenarios=_known("--scenario", scenarios, list(names)),
                policies=_known("--policy", policies, list(RULES), list(VARIANTS)),
                jobs=jobs or processors(),
                progress=RunProgress(),
                **rest,
            )
            _finish(rows, as_json, picture)

        command: Callable[..., None] = run
        for option in _OPTIONS:
            command = option(command)
        return command

    return command_of


@click.group(cls=WholeSentences)
def simulate() -> None:
    """Show how placement rules would fare, in a model of elements, monitor and programs.

    They are installed in a checkout, by make install. The rule "ours" is the decision of the selection
    service itself. Nothing is asked of a running service, and nothing is placed. The help of each
    experiment lists its scenarios and the rules, and benchmarks/simulate/README.md says what they show.
    """


@simulate.command(cls=_Listing, epilog=examples("ses simulate table1 --users 8 --seeds 5"))
@click.option(
    "--users", "users", multiple=True, type=click.IntRange(2), metavar="N",
    help="Only this many users; may be repeated. [6, 8, 10]",
)  # fmt: skip
@_study(BACKGROUNDS)
def table1(users: tuple[int, ...], **study: Any) -> list[Row]:
    """Repeat Table 1 of the QStorMan paper: 6, 8 and 10 users, half of them or all supported.

    Prints how much time is saved against the users (or runs) placed at random or in turn, with 95 %
    intervals.
    """
    return table1_study.table1(users=users or USERS, **study)


@simulate.command(cls=_Listing, epilog=examples("ses simulate hard --seeds 5 --plot hard.png"))
@click.option("--files", type=click.IntRange(100), metavar="N", help="Files per run. [as the scenario says]")
@_study(SCENARIOS)
def hard(files: int | None, **study: Any) -> list[Row]:
    """Put rules into hard cases: old samples, bursts, strangers, slow elements, many deciders.

    Prints the mean slowdown of a file (its time over its time alone; where bursts or workflows are
    judged by their end, that of the last file) and how many times that of a rule that sees everything it
    is, with 95 % intervals. The rule may also be the product with a term switched, such as no-reading.
    """
    return hard_study.hard(files=files or 0, **study)


@simulate.command(epilog=examples("ses simulate agents --agents 1000 --away 60"))
@click.option(
    "--agents", type=click.IntRange(1, 100_000), default=10_000, show_default=True, metavar="N",
    help="How many nodes have one.",
)  # fmt: skip
@click.option(
    "--away", type=Number(0, 3600), default=30.0, show_default=True, metavar="SECONDS",
    help="How long the service is away.",
)  # fmt: skip
@click.option("--cut", is_flag=True, help="The network is cut: agents wait for answers that do not come.")
@click.option(
    "--files", type=click.IntRange(0, 1_000_000), default=2, show_default=True, help="Files open on a node."
)
@click.option("--idle", is_flag=True, help="Nothing runs on the nodes: they speak seldom.")
@json_option
def agents(agents: int, away: float, cut: bool, files: int, idle: bool, as_json: bool) -> None:
    """Let many agents lose their service, and find it again.

    Prints after how many seconds they have told it again of all their files, and what that asks of the
    service. What a request costs was measured with 1,000 real connections (benchmarks/README.md).
    """
    outcome = come_back(Loss(agents, away, cut, files, Use.NONE if idle else Use.NOW), Costs())
    if as_json:
        print_json(dataclasses.asdict(outcome))
        return
    rows = [
        ("half of them are back after", f"{outcome.median:.1f} s"),
        ("99 of 100", f"{outcome.late:.1f} s"),
        ("the last", f"{outcome.last:.1f} s"),
        ("of a processor before", f"{outcome.usual:.0%}"),
        ("in the busiest second after", f"{outcome.busiest:.0%}"),
        ("requests in one second after, at most", str(outcome.most)),
        ("requests without an answer after", str(outcome.failed)),
        ("memory for them", f"{outcome.memory_mb:.0f} MB"),
    ]
    table(console(), (f"{agents} agents", ">"), [list(row) for row in rows])


def _known(
    option: str, asked: Sequence[str], names: Sequence[str], also: Sequence[str] = ()
) -> Sequence[str]:
    unknown = sorted(set(asked) - set(names) - set(also))
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: not one of {', '.join(names)}", param_hint=option)
    return list(dict.fromkeys(asked)) or names


class RunProgress:
    """Tells on standard error how far it is, every two seconds."""

    def __init__(self) -> None:
        self._begun = self._shown = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Note that so many of all runs are done."""
        now = time.monotonic()
        if now - self._shown >= _PROGRESS_EVERY or done == total:
            self._shown = now
            sys.stderr.write(f"{done} of {total} runs, {now - self._begun:.0f} s\n")


def _finish(rows: Sequence[Row], as_json: bool, picture: Path | None) -> None:
    if as_json:
        print_json([row.as_json() for row in rows])
    else:
        out = console()
        headers = [
            "scenario",
            ">users",
            "rule",
            "places",
            "against",
            ">saved, %",
            ">slowdown",
            ">of clairvoyant",
            ">met, %",
        ]
        table(out, headers, [_line(row) for row in rows])
        line(
            out,
            "saved: time against the baseline; of clairvoyant: time over that of the rule that sees all; "
            "met: files that got the rate asked for.",
        )
    if picture is not None:
        plot(rows, picture)


def _line(row: Row) -> list[str]:
    saved, slower = row.gain, row.slowdown_vs_clairvoyant
    return [
        row.scenario,
        "-" if row.users is None else str(row.users),
        row.policy,
        row.supported,
        row.baseline,
        shown(saved),
        number(row.mean_slowdown, 2),
        shown(slower, 3, 1.0, ""),
        "-" if row.met is None else number(100 * row.met, 1),
    ]
