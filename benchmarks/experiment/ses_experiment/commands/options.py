"""What the commands of ``ses experiment`` have in common."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
from ses.commands.options import Existing, Parsed
from ses.demo.interrupts import Interrupts, stoppable
from ses.output import console
from ses_simulate.command import PICTURE
from ses_simulate.rows import known
from ses_simulate.statistics import Interval

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., Any])
MIN_THREADS = 16  # of the union: its few default threads would serialise writers

seed = click.option(
    "--seed", type=int, default=1, show_default=True, metavar="N", help="Seed of all that is random."
)
build = click.option(
    "--build", type=Existing(file_okay=False),
    help="Where CMake built libses. [build/libses of the checkout]",
)  # fmt: skip


def number(
    name: str, default: int, about: str, unit: str = "N", least: int = 1, most: int | None = None, **more: str
) -> Callable[[Command], Command]:
    """Give a command an option of a whole number; ``argument``: the name it has there, if another."""
    return click.option(
        *(name, *more.values()), type=click.IntRange(least, most), default=default, show_default=True,
        metavar=unit, help=about,
    )  # fmt: skip


def rounds(rounds: int, about: str = "Rounds of each arm; arms take turns.") -> Callable[[Command], Command]:
    """Give a command the option to say how often each arm is run."""
    return number("--rounds", rounds, about)


threads = number(
    "--threads", MIN_THREADS,
    "Threads of mergerfs, at least 16: its few default threads would serialise writers.", least=MIN_THREADS,
)  # fmt: skip
seconds = number("--seconds", 30, "How long users begin files in each round.", "SECONDS", least=5)
resume = click.option(
    "--resume", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Keep finished runs in this file, and do not run again what is in it. "
    "[a new file in the current directory]",
)  # fmt: skip


def kept_in(resume: Path | None, name: str) -> Path:
    """Return the file of ``--resume``, or a new one with the name of an experiment."""
    return resume or Path(f"ses-{name}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl").absolute()


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        raise ValueError(f"{text!r} is no list of numbers like 4,8.") from None
    if min(numbers) < 1:
        raise ValueError("Numbers begin with 1.")
    return numbers


NUMBERS = Parsed("numbers", _numbers)
"""Whole numbers from 1 on, separated by commas, each once."""


def plot(figures: str) -> Callable[[Command], Command]:
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
    return {name: known(end) for name, end in asdict(part).items()}


def run(work: Callable[[Interrupts, Callable[[str], None]], Result]) -> Result:
    """Do what takes long with progress on standard error; ends the program when it is stopped."""
    with stoppable(console(sys.stderr)) as (interrupts, progress):
        return work(interrupts, progress.step)
