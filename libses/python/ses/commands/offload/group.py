"""``ses offload deploy``, ``check`` and ``remove``."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path

import click
from ses_client.errors import EXIT_FAILED

from ses.commands.examples import examples
from ses.commands.groups import WholeSentences
from ses.commands.near.options import WORDS
from ses.commands.options import Parsed, json_option
from ses.offload import deploying
from ses.output import console, print_json, table


def _read_pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name or not value:
        raise ValueError(f"{text!r} is not NAME=VALUE.")
    return name, value


_PAIR = Parsed("pair", _read_pair)
rsh_option = click.option(
    "--rsh", type=WORDS, default=(), metavar="COMMAND",
    help="What reaches a node, like 'ssh -p 2222' or 'ip netns exec %n'; %n is the node. [ssh]",
)  # fmt: skip
program_argument = click.argument("program", type=click.Path(path_type=Path))


@click.group("offload", cls=WholeSentences)
def offload() -> None:
    """Build a program of libses-offload for the nodes where its functions run, and put it there
    (docs/offload.md).
    """


@offload.command(epilog=examples("ses offload deploy text --node store1 --node store2 --to /opt/text text.c"))
@program_argument
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...",
                type=click.Path(path_type=Path, exists=True, dir_okay=False))  # fmt: skip
@click.option("--node", "nodes", multiple=True, required=True, metavar="NODE", help="May be repeated.")
@click.option("--to", "folder", required=True, metavar="FOLDER", help="Where it goes on the nodes; absolute.")
@click.option(
    "--flags", default="", metavar="FLAGS", help="For the compiler, beside those of libses-offload."
)
@click.option("--compiler", "compilers", type=_PAIR, multiple=True, metavar="MACHINE=COMMAND",
              help="What compiles for a machine, as uname -m names it. "
              "[cc; MACHINE-linux-gnu-gcc]")  # fmt: skip
@click.option("--machine", "machines", type=_PAIR, multiple=True, metavar="NODE=MACHINE",
              help="What a node runs. [what uname -m says there]")  # fmt: skip
@click.option("--runner", "runners", type=_PAIR, multiple=True, metavar="MACHINE=COMMAND",
              help="What runs programs of that machine on its nodes, such as an emulator.")  # fmt: skip
@rsh_option
@json_option
def deploy(
    program: Path, sources: tuple[Path, ...], nodes: tuple[str, ...], folder: str, flags: str,
    rsh: tuple[str, ...], as_json: bool, **pairs: tuple[tuple[str, str], ...],
) -> None:  # fmt: skip
    """Build PROGRAM of SOURCEs for this machine and each kind of machine among the nodes, and copy it there.

    PROGRAM.nodes then says which program serves on which node: libses-offload reads it.  At last a storage
    part is started on each node, and must have the same functions and types.  Exits with 1 when one has not.
    The nodes need libses-offload0.
    """
    commands = {name: {key: tuple(shlex.split(value)) for key, value in pairs[name]}
                for name in ("compilers", "runners")}  # fmt: skip
    wanted = deploying.Wanted(
        program, sources, nodes, folder, tuple(shlex.split(flags)), dict(pairs["machines"]), rsh, **commands
    )
    deploying.deploy(wanted)
    _show(deploying.check(program, rsh), as_json)


@offload.command(epilog=examples("ses offload check text"))
@program_argument
@rsh_option
@json_option
def check(program: Path, rsh: tuple[str, ...], as_json: bool) -> None:
    """Start a storage part of PROGRAM on each node it was deployed to, and end it.

    Exits with 1 if one does not start, or has other functions.
    """
    _show(deploying.check(program, rsh), as_json)


@offload.command(epilog=examples("ses offload remove text"))
@program_argument
@rsh_option
def remove(program: Path, rsh: tuple[str, ...]) -> None:
    """Remove PROGRAM from the nodes it was deployed to; what was built here stays."""
    deploying.remove(program, rsh)


def _show(checks: list[deploying.Check], as_json: bool) -> None:
    if as_json:
        print_json({"nodes": [asdict(entry) for entry in checks]})
    else:
        rows = [[entry.node, entry.program, entry.error or "serves"] for entry in checks]
        table(console(), ("node", "program", "state"), rows)
    if any(entry.error for entry in checks):
        raise SystemExit(EXIT_FAILED)
