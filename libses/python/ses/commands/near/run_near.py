"""``ses run-near``: run a program where its files lie."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_FAILED

from ses.commands.examples import examples
from ses.commands.near.options import WithProgram, execution_options, program, site_of
from ses.commands.near.signals import PIPE_CLOSED, interruptible
from ses.commands.options import service_command
from ses.near.cost import Prediction
from ses.near.execution.connection import Connection, LeftError, LostError, NotStartedError
from ses.near.execution.conversation import Ended
from ses.near.learning import learn
from ses.near.run_near import Plan, Wanted, plan
from ses.near.running import Local, StoppedError, run_here, run_there
from ses.output import console, line, print_json


@click.command(
    "run-near",
    cls=WithProgram,
    options_metavar="[OPTIONS]",
    epilog=examples("ses run-near --explain /srv/union/alice/log -- grep -c error {}"),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE... -- PROGRAM ARGS {}",
                type=click.Path())  # fmt: skip
@click.option("--explain", is_flag=True, help="Say both predicted times, what binds, and the measured ones.")
@click.option("--dry-run", is_flag=True, help="Say where it would run and why; only the sample is run.")
@click.option("--where", type=click.Choice(["auto", "near", "here"]), default="auto", show_default=True,
              help="near: also if it does not pay; here: do not ask.")  # fmt: skip
@click.option("--on", "node", metavar="NODE", help="The node that holds the files. [what the site says]")
@execution_options
@service_command
def run_near(
    client: ServiceClient,
    as_json: bool,
    files: tuple[str, ...],
    explain: bool,
    dry_run: bool,
    **asked: Any,
) -> None:
    """Run an unmodified program on the node that holds its files, if that is faster.

    {} stands for the names of the files.  The program runs as you, in this directory and environment; its
    input, output, errors, signals and exit status are those of a run here.  When it cannot run there, or that
    does not pay, it runs here, with the reason on standard error.  With --json the plan, and what was
    measured, are one line of JSON on standard error (with --dry-run on standard output).  Exits with the
    program's status, 128 and the number for a signal, and 1 when the node was lost while it ran.
    """
    named = {Path(file): file for file in files}
    wanted = Wanted(tuple(map(Path, files)), program(), names=named, **asked)
    with interruptible("run-near"), Connection() as connection:
        decided = plan(wanted, site_of(client), connection)
        if dry_run:
            if as_json:
                print_json(_as_json(decided))
            else:
                _show(decided, sys.stdout)
            return
        if explain and not as_json:
            _show(decided, sys.stderr)
        elif decided.node is None and wanted.where == "auto" and not as_json:
            _say(f"it runs here: {decided.reason}")
        done, decided = _run(wanted, decided, connection)
    if as_json:
        sys.stderr.write(json.dumps(_as_json(decided, done)) + "\n")
    elif explain:
        _show_measured(done)
    raise SystemExit(done.exit_status)


def _run(wanted: Wanted, decided: Plan, connection: Connection) -> tuple[Ended | Local, Plan]:
    if (node := decided.node) is not None:
        try:
            ended = run_there(wanted, node, connection)
        except NotStartedError as error:
            decided = Plan(None, f"{node}: {error}", decided.decision, decided.elements)
            _say(f"it runs here: {decided.reason}")
        except StoppedError as stopped:
            raise SystemExit(128 + stopped.number) from None
        except LeftError as left:
            _say(str(left))
            raise SystemExit(128 + left.number) from None
        except LostError as error:
            _say(f"{error} What it printed may be incomplete.")
            raise SystemExit(EXIT_FAILED) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing more is written when Python ends
            raise SystemExit(PIPE_CLOSED) from None
        else:
            with suppress(OSError):  # the program removed one
                learn(wanted.argv, node, [(sum(file.stat().st_size for file in wanted.files), ended)])
            return ended, decided
    connection.close()
    return run_here(wanted), decided


def _say(text: str) -> None:
    line(console(sys.stderr), f"run-near: {text}")


def _show(decided: Plan, stream: Any) -> None:
    out = console(stream)
    where = f"on {decided.node}" if decided.node else "here"
    line(out, f"run-near: {where}: {decided.reason}")
    if decided.elements:
        line(out, f"  files on   {', '.join(decided.elements)}")
    if (decision := decided.decision) is not None:
        line(out, f"  near       {_prediction(decision.near)}")
        line(out, f"  here       {_prediction(decision.here)}")
        line(out, f"  saved      {decision.saved:.0%} (at least {decision.margin:.0%} is wanted)")


def _prediction(prediction: Prediction) -> str:
    return (
        f"{prediction.seconds:.2f} s, {prediction.bound_by} binds (disk {prediction.disk:.2f} s, "
        f"link {prediction.link:.2f} s, CPU {prediction.cpu:.2f} s), "
        f"{prediction.wire_bytes / 1e6:.1f} MB over the network"
    )


def _show_measured(done: Ended | Local) -> None:
    text = f"measured {done.seconds:.2f} s, {done.cpu_seconds:.2f} CPU seconds"
    if isinstance(done, Ended):
        text += f", {done.returned / 1e6:.1f} MB returned"
        text += f", {done.queued_seconds:.0f} s in Slurm's queue" if done.queued_seconds else ""
        text += f"; {done.limits}" if done.limits else ""
    _say(text)


def _as_json(decided: Plan, done: Ended | Local | None = None) -> dict[str, Any]:
    decision = decided.decision
    shown = {} if decision is None else {
        name: {**asdict(prediction), "bound_by": prediction.bound_by}
        for name, prediction in (("near", decision.near), ("here", decision.here))
    }  # fmt: skip
    return {
        "node": decided.node, "reason": decided.reason, "elements": decided.elements,
        "predicted": {**shown, "saved": decision.saved, "pays": decision.pays} if decision else None,
        "measured": None if done is None else {**asdict(done), "exit_status": done.exit_status},
    }  # fmt: skip
