"""What ``ses run-near`` and ``ses map-near`` have in common."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import UsageError

from ses.amounts import LinkRate, Rate, Size
from ses.commands.options import Number, Parsed
from ses.near.execution.executors import EXECUTORS, Limits
from ses.near.placing import Site
from ses.near.price import Prices
from ses.settings import current_user

_PROGRAM = "ses.near.program"


class WithProgram(click.Command):
    """A command whose line ends in ``--`` and a program with its arguments, which are not looked at."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what comes after the first ``--``."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def program() -> tuple[str, ...]:
    """Return the program of the current command; raises UsageError."""
    words: tuple[str, ...] = click.get_current_context().meta[_PROGRAM]
    if not words:
        raise UsageError("What is to be run is missing: write it after --, with {} for the files.")
    if "{}" not in words:
        raise UsageError("The command has no {}: write it where the names of the files belong.")
    return words


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}.") from None


def _path_map(text: str) -> tuple[str, str]:
    here, _, there = text.partition("=")
    if not here.startswith("/") or not there.startswith("/"):
        raise ValueError(f"{text!r} is not HERE=THERE, two absolute directories.")
    return str(Path(here)), str(Path(there))


def _prices(text: str) -> Prices:
    try:
        return Prices.of(text)
    except (ValueError, TypeError):
        raise ValueError(f"{text!r} is not desktop=PRICE,endpoint=PRICE.") from None


WORDS = Parsed("command", _words)
"""A command as a shell reads it."""
PATH_MAP = Parsed("map", _path_map)
COST = Parsed("cost", _prices)


def execution_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what it takes to run a program elsewhere, and to know what that costs.

    It receives ``limits`` for what the program may use there.
    """

    @functools.wraps(command)
    def with_limits(*, cpus: float | None, memory: int | None, io_weight: int | None, **rest: Any) -> Any:
        return command(limits=Limits(cpus, memory, io_weight), **rest)

    asking = with_limits
    for option in (
        click.option("--sample/--no-sample", "sampled", default=True, show_default=True,
                     help="Try the program on the first 16 MB when nothing is known of it."),
        click.option("--clients", type=click.IntRange(1), metavar="N",
                     help="Programs that use the link of a node with data at once. [the site's open files]"),
        click.option("--link-rate", type=LinkRate(), metavar="RATE",
                     help="What that link carries, like 1Gbit/s. [what the site says]"),
        click.option("--disk-rate", type=Rate(), metavar="RATE",
                     help="At which rate the files are read there, like 500MB/s. [what the site says]"),
        click.option("--io-weight", type=click.IntRange(1, 10000), metavar="N",
                     help="Weight of its I/O there; 100 is usual."),
        click.option("--memory", type=Size(), metavar="SIZE", help="Memory that a program may use there."),
        click.option("--cpus", type=Number(0.01), metavar="N", help="Processors it may use there."),
        click.option("--path-map", type=PATH_MAP, metavar="HERE=THERE",
                     help="Files below HERE have that name below THERE on the nodes. [the same names]"),
        click.option("--rsh", type=WORDS, default=(), metavar="COMMAND",
                     help="The executor's command, like 'ssh -p 2222'; %n is the node."),
        click.option("--executor", type=click.Choice(sorted(EXECUTORS)),
                     help="How nodes are reached. [slurm where it is set up, else ssh]"),
    ):  # fmt: skip
        asking = option(asking)
    return asking


def site_of(client: ServiceClient) -> Callable[[], Site]:
    """Return a way to ask the service once it is needed."""
    return lambda: Site(client, current_user())
