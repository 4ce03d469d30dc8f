"""What the commands of ``ses experiment`` have in common."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
from ses.commands.options import Existing
from ses.demo.faults import StoppedError
from ses.demo.interrupts import Interrupts
from ses.output import console, line
from ses.progress import Progress
from ses_client.errors import SesError
from ses_simulate.statistics import Interval

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., Any])
MIN_THREADS = 16  # of the union: its few default threads would serialise writers

threads_option = click.option(
    "--threads", type=click.IntRange(MIN_THREADS), default=MIN_THREADS, show_default=True, metavar="N",
    help="Threads of mergerfs, at least 16: its few default threads would serialise writers.",
)  # fmt: skip
seed_option = click.option(
    "--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of all that is random."
)
build_option = click.option(
    "--build", type=Existing(file_okay=False),
    help="Where CMake built libses. [build/libses of the checkout]",
)  # fmt: skip


def plot_option(figures: str) -> Callable[[Command], Command]:
    """Give a command the option to draw what it measured, in the form of a paper's figures."""
    return click.option(
        "--plot", type=Picture(), metavar="FILE", help=f"Draw it in the form of {figures}: PNG or SVG."
    )


class Numbers(click.ParamType):  # type: ignore[type-arg]  # click 8.1 of Debian 12 names no type there
    """Whole numbers from 1 on, separated by commas."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers, each once."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(dict.fromkeys(int(number) for number in value.split(",")))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers like 4,8.", param, ctx)
        if min(numbers) < 1:
            self.fail("Numbers begin with 1.", param, ctx)
        return numbers


class Picture(click.ParamType):  # type: ignore[type-arg]  # as above
    """A file for a picture; what it cannot be is said before anything is measured."""

    name = "picture"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the file."""
        file = Path(value)
        if file.suffix.lower() not in (".png", ".svg"):
            self.fail(f"{value!r} must end in .png or .svg.", param, ctx)
        return file


class Words(click.ParamType):  # type: ignore[type-arg]  # as above
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
        words = tuple(dict.fromkeys(value.split(",")))
        unknown = [word for word in words if word not in self._known]
        if unknown:
            self.fail(f"{', '.join(unknown)}: not one of {', '.join(self._known)}.", param, ctx)
        return words


def ends(part: Interval) -> dict[str, float | None]:
    """Return an interval as JSON knows it; an end that one value alone does not give is ``null``."""
    return {name: end if math.isfinite(end) else None for name, end in asdict(part).items()}


def percent(part: Interval) -> str:
    """Return a part in %, with how far its interval goes where it has ends."""
    reach = part.high - part.mean
    return f"{100 * part.mean:+.1f}" + (f" +- {100 * reach:.1f}" if reach != float("inf") else "")


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
