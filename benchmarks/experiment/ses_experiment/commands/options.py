"""What the commands of ``ses experiment`` have in common."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
from ses.commands.options import Existing, Parsed
from ses.demo.faults import StoppedError
from ses.demo.interrupts import Interrupts
from ses.output import console, line
from ses.progress import Progress
from ses_client.errors import SesError
from ses_simulate.plot import FORMATS
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


def rounds_option(rounds: int) -> Callable[[Command], Command]:
    """Give a command the option to say how often each arm is run."""
    return click.option(
        "--rounds", type=click.IntRange(1), default=rounds, show_default=True, metavar="N",
        help="Rounds of each arm; arms take turns.",
    )  # fmt: skip


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        raise ValueError(f"{text!r} is no list of numbers like 4,8.") from None
    if min(numbers) < 1:
        raise ValueError("Numbers begin with 1.")
    return numbers


def _picture(text: str) -> Path:
    file = Path(text)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{text!r} must end in {' or '.join(FORMATS)}.")
    return file


NUMBERS = Parsed("numbers", _numbers)
"""Whole numbers from 1 on, separated by commas, each once."""
PICTURE = Parsed("picture", _picture)
"""A file for a picture; what it cannot be is said before anything is measured."""


def plot_option(figures: str) -> Callable[[Command], Command]:
    """Give a command the option to draw what it measured, in the form of a paper's figures."""
    return click.option(
        "--plot", type=PICTURE, metavar="FILE", help=f"Draw it in the form of {figures}: PNG or SVG."
    )


def some_of(known: tuple[str, ...]) -> Parsed:
    """Return the type of an option that takes some of these words, separated by commas, each once."""

    def read(text: str) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(text.split(",")))
        unknown = [word for word in words if word not in known]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: not one of {', '.join(known)}.")
        return words

    return Parsed("words", read)


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
