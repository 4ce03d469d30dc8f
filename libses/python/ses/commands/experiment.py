"""``ses experiment``: live measurements of what placement is worth, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ses.commands.options import json_option
from ses.demo.faults import StoppedError
from ses.demo.interrupts import Interrupts
from ses.errors import EXIT_FAILED, SesError
from ses.experiment import collision as collisions
from ses.experiment.arms import PRODUCT, parse_arms
from ses.output import console, line, number, print_json, table
from ses.progress import Progress

Result = TypeVar("Result")
LEAST_THREADS = 16  # of the union: its few default threads would serialise writers

_threads_option = click.option(
    "--threads", type=click.IntRange(LEAST_THREADS), default=LEAST_THREADS, show_default=True, metavar="N",
    help="Threads of mergerfs.",
)  # fmt: skip
_seed_option = click.option(
    "--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of all that is random."
)
_build_option = click.option(
    "--build", type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Where CMake built libses. [build/libses of the checkout]",
)  # fmt: skip


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers from 1 on, separated by commas."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers, each once."""
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(dict.fromkeys(int(one) for one in value.split(",")))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers like 4,8.", param, ctx)
        if min(found) < 1:
            self.fail("Numbers begin with 1.", param, ctx)
        return found


class Words(click.ParamType[tuple[str, ...]]):
    """Some of a set of words, separated by commas."""

    name = "words"

    def __init__(self, known: tuple[str, ...]) -> None:
        self._known = known

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the words, each once."""
        if isinstance(value, tuple):
            return value
        found = tuple(dict.fromkeys(value.split(",")))
        unknown = [one for one in found if one not in self._known]
        if unknown:
            self.fail(f"{', '.join(unknown)}: not one of {', '.join(self._known)}.", param, ctx)
        return found


@click.group()
def experiment() -> None:
    """Measure on this machine where files go and how long programs take.

    Needs root and a checkout. Makes small file systems of limited speed under one mergerfs union,
    starts the whole chain on free loopback ports, runs unmodified programs as users of their own,
    and undoes everything at the end.
    """


@experiment.command()
@click.option(
    "--users", "writers", type=Numbers(), default="8", show_default=True, metavar="N,...",
    help="How many files are created together, each by a user of its own.",
)  # fmt: skip
@click.option(
    "--process", "processes", type=Words(collisions.PROCESSES), default="each", show_default=True,
    metavar="each,one", help="A process and a user for each file, or one process that creates all.",
)  # fmt: skip
@click.option(
    "--branches", type=click.IntRange(2, 64), default=8, show_default=True, metavar="N",
    help="Branches of the union.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(1), default=6, show_default=True, metavar="N", help="Rounds of each arm."
)
@click.option(
    "--arm", "arms", multiple=True, default=(f"{PRODUCT},rand",), show_default=True, metavar="ARM,...",
    help="What is compared: default, policies of mergerfs (rand, pfrd, mfs, lus), or NAME=OPTIONS: "
    "default with these options of ses-agent. May be repeated.",
)  # fmt: skip
@click.option(
    "--size", "megabytes", type=click.IntRange(1, 1000), default=24, show_default=True, metavar="MIB",
    help="Size of each file.",
)  # fmt: skip
@click.option(
    "--gap", type=click.FloatRange(0.0), default=0.1, show_default=True, metavar="SECONDS",
    help="Time between two starts.",
)  # fmt: skip
@_threads_option
@_seed_option
@_build_option
@json_option
def collision(arms: tuple[str, ...], as_json: bool, **settings: Any) -> None:
    """Create files at almost the same moment on equal idle branches, and see whether they collide.

    Exits with 1 when an arm under the library does not spread them: of eight files on eight
    branches, at least 7 distinct branches and at most 1.5 files on the fullest, on average.
    """
    plan = collisions.Plan(parse_arms(arms), **settings)
    report = run(lambda interrupts, progress: collisions.collide(plan, interrupts, progress))
    if as_json:
        print_json(report.as_json())
    else:
        _show_collision(report)
    if not report.holds:
        raise SystemExit(EXIT_FAILED)


def run(work: Callable[[Interrupts, Callable[[str], None]], Result]) -> Result:
    """Do what takes long with progress on standard error; ends the program when it is stopped."""
    with Interrupts() as interrupts, Progress(console(sys.stderr)) as progress:
        try:
            return work(interrupts, progress.step)
        except StoppedError as stopped:
            progress.clear()
            line(console(sys.stderr), "Stopped; everything that was made is removed again.")
            raise SystemExit(128 + stopped.signal_number) from None
        except SesError:
            progress.clear()
            raise


def _show_collision(report: collisions.Report) -> None:
    out = console()
    rows = [
        [
            one.process,
            str(one.writers),
            one.arm,
            str(one.rounds),
            number(one.distinct),
            number(one.most),
            number(one.mean_seconds, 2),
            number(one.last_seconds, 2),
            "-" if one.holds is None else "yes" if one.holds else "NO",
        ]
        for one in report.summaries
    ]
    headers = [
        "process",
        ">files",
        "arm",
        ">rounds",
        ">distinct",
        ">most on one",
        ">mean s",
        ">last s",
        "holds",
    ]
    table(out, headers, rows)
    line(out, report.sentence)
