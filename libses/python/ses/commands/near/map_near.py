"""``ses map-near``: run a program on many files, each where it lies."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import SesError, UsageError

from ses.amounts import Size
from ses.commands.examples import examples
from ses.commands.near.options import COST, WithProgram, execution_options, program, site_of
from ses.commands.near.signals import PIPE_CLOSED, interruptible
from ses.commands.options import Existing, FileName, Parsed, service_command
from ses.near.cost import Decision
from ses.near.endpoints import Spread, decided, files_of, spread
from ses.near.map_near import Result, run_all
from ses.near.price import Prices, near_over_here
from ses.near.run_near import Wanted
from ses.near.running import to_descriptor
from ses.near.shuffle.sorting import Order, Shuffle
from ses.near.tasks import HERE, Progress, progress, tasks_of
from ses.output import console, line, print_json
from ses.whole_file import write_whole

_SHOW_SECONDS = 10.0


def _held(text: str) -> tuple[str, str]:
    pattern, equals, node = text.rpartition("=")
    if not equals or not node:
        raise ValueError(f"{text!r} is not PATTERN=NODE.")
    return pattern, node


@click.command(
    "map-near", cls=WithProgram, epilog=examples("ses map-near '/srv/union/alice/*.log' -- grep -c error {}")
)
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN... -- PROGRAM ARGS {}")
@click.option("--piece", type=Size(), metavar="SIZE",
              help="Divide larger files between lines; {} is then /dev/stdin.")  # fmt: skip
@click.option("--per-endpoint", type=click.IntRange(1, 1024), metavar="N",
              help="Tasks at once on a node. [what its processors and memory allow]")  # fmt: skip
@click.option("--retries", type=click.IntRange(0, 100), default=2, show_default=True, metavar="N",
              help="How often a task of a lost node is tried again, here.")  # fmt: skip
@click.option("--array", type=Existing(file_okay=False, writable=True),
              metavar="FOLDER", help="Submit the tasks of each node as a job array of Slurm; requests and "
              "answers lie below FOLDER, which all nodes share, while it runs.")  # fmt: skip
@click.option("--reduce", "reducer", metavar="COMMAND", help="Program that reads the merged output.")
@click.option("--shuffle", type=click.IntRange(0), metavar="KEY",
              help="Sort the output over all nodes, by word KEY of each line (0: by the line). Each node "
              "merges a part, and --reduce runs there.")  # fmt: skip
@click.option("--into", metavar="FOLDER", help="With --shuffle: output stays on the nodes, in FOLDER/part-*.")
@click.option("--force", is_flag=True, help="Run there even if running here is predicted to be faster.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost; only the sample is run.")
@click.option("--progress", "progress_file", type=FileName(), metavar="FILE",
              help="Keep FILE up to date with how far it is, as one line of JSON.")  # fmt: skip
@click.option("--held", type=Parsed("held", _held), multiple=True, metavar="PATTERN=NODE",
              help="Files that fit lie on that node; may be repeated. [what the site says]")  # fmt: skip
@click.option("--cost", "prices", type=COST, metavar="desktop=PRICE,endpoint=PRICE",
              help="Report price and performance too.")  # fmt: skip
@execution_options
@service_command
def map_near(
    client: ServiceClient,
    as_json: bool,
    patterns: tuple[str, ...],
    piece: int | None,
    per_endpoint: int | None,
    retries: int,
    reducer: str | None,
    force: bool,
    dry_run: bool,
    held: tuple[tuple[str, str], ...],
    prices: Prices | None,
    array: Path | None,
    shuffle: int | None,
    into: str | None,
    progress_file: Path | None,
    **asked: Any,
) -> None:
    """Run an unmodified program on each file, on the node that holds it.

    Output goes out in the order of the files, each task's once.  Files that no node is known to hold, and
    tasks of a node that is lost, are run here.  Refuses when running all here is predicted to be faster.  The
    report goes to standard error, with --json as one line of JSON (with --dry-run to standard output).  Exits
    with the highest status of a task, with that of --reduce if it fails, and with 1 when it refuses or a task
    is given up.
    """
    named = files_of(patterns)
    wanted = Wanted(tuple(named), program(), names=named, **asked)
    if array is not None and wanted.executor_used != "slurm":
        raise UsageError("--array is for Slurm: give --executor slurm, too.")
    order = _order(shuffle, reducer, into, array, wanted.executor_used)
    where, reasons = spread(wanted, held, site_of(client), piece)
    with interruptible("map-near"):
        decision, at_once = decided(wanted, where, per_endpoint, reasons) if where.holders else (None, 1)
    report = _report(where, decision, prices)
    if dry_run:
        print_json(report) if as_json else _show(where, decision, reasons, report)
        return
    if not as_json:
        _show(where, decision, reasons, report)
    if decision is not None and decision.saved < 0 and not force:
        raise SesError(f"Near the data it takes longer: {decision.lost}. Run it here, or use --force.")
    tasks = tasks_of(where.extents, piece)
    nodes = {**dict.fromkeys(where.nodes, at_once), HERE: max(1, int(where.here.cores))}
    with (
        interruptible("map-near"), _live_progress(progress_file) as show,
        _reduced(None if order else reducer) as (output, reduced), _below(array) as folder,
        Shuffle(wanted, order) if order else nullcontext() as shuffled,
    ):  # fmt: skip
        wanted = replace(wanted, at_once=0 if wanted.executor_used == "slurm" else at_once)
        result = run_all(wanted, tasks, nodes, retries, output, to_descriptor(2), show, folder, shuffled)
    result.shuffled = shuffled.sent if shuffled else 0
    _keep(progress_file, progress({task.number: task for task in tasks}, range(len(tasks)), result.seconds))
    _finish(result, report, as_json)
    raise SystemExit(reduced() or result.status)


def _order(
    key: int | None, reducer: str | None, into: str | None, array: Path | None, executor: str
) -> Order | None:
    """Return what ``--shuffle`` asks for; raises UsageError."""
    if key is None:
        if into is not None:
            raise UsageError("--into is for --shuffle: give both.")
        return None
    if array is not None or (executor == "slurm" and "SLURM_JOB_ID" not in os.environ):
        raise UsageError("With Slurm, --shuffle works within an allocation (salloc), and not with --array.")
    if into is not None and not into.startswith("/"):
        raise UsageError("--into takes an absolute name: the folder is on the nodes.")
    try:
        return Order(key, tuple(shlex.split(reducer)) if reducer else None, into)
    except ValueError as error:
        raise UsageError(f"{reducer}: {error}.") from None


@contextmanager
def _below(folder: Path | None) -> Iterator[Path | None]:
    """A folder of its own below one, for this user alone, removed at the end; ``None`` for none."""
    if folder is None:
        yield None
        return
    with tempfile.TemporaryDirectory(
        prefix="ses-map-near-", dir=folder.absolute(), ignore_cleanup_errors=True
    ) as own:
        yield Path(own)


@contextmanager
def _reduced(reducer: str | None) -> Iterator[tuple[Callable[[bytes], object], Callable[[], int]]]:
    """Where merged output goes, and how to ask what the reducer ended with."""
    if reducer is None:
        try:
            yield to_descriptor(1), lambda: 0
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise SystemExit(PIPE_CLOSED) from None
        return
    try:
        process = subprocess.Popen(shlex.split(reducer), stdin=subprocess.PIPE)
    except (OSError, ValueError) as error:
        raise SesError(f"{reducer} cannot be started: {error}.") from None
    assert process.stdin is not None
    pipe = process.stdin

    def write(data: bytes) -> None:
        try:
            pipe.write(data)
        except BrokenPipeError:  # it wants no more, as head does
            return

    try:
        yield write, lambda: process.returncode
    except BaseException:  # what it would print of a part looks like the whole
        process.terminate()
        raise
    finally:
        with suppress(BrokenPipeError):
            pipe.close()
        process.wait()


@contextmanager
def _live_progress(file: Path | None) -> Iterator[Callable[[Progress], None]]:
    """How progress is shown: on a terminal one live line, elsewhere a line now and then; and in a file."""
    out = console(sys.stderr)
    last = time.monotonic()
    status = out.status("starting") if out.is_terminal else None

    def show(how_far: Progress) -> None:
        nonlocal last
        _keep(file, how_far)
        if status is not None:
            status.update(how_far.text)
        elif time.monotonic() - last >= _SHOW_SECONDS:
            last = time.monotonic()
            line(out, f"map-near: {how_far.text}")

    if status is not None:
        status.start()
    try:
        yield show
    finally:
        if status is not None:
            status.stop()


def _keep(file: Path | None, how_far: Progress) -> None:
    if file is not None:
        write_whole(file, json.dumps(asdict(how_far)) + "\n")


def _report(where: Spread, decision: Decision | None, prices: Prices | None) -> dict[str, Any]:
    predicted = None
    if decision is not None:
        predicted = {
            "near": asdict(decision.near), "here": asdict(decision.here), "saved": decision.saved,
        }  # fmt: skip
    return {
        "nodes": {node: int(holder.bytes) for node, holder in where.holders.items()},
        "here_bytes": sum(extent.end - extent.start for extent in where.extents if extent.node == HERE),
        "predicted": predicted,
        "price_performance": None if prices is None or decision is None else near_over_here(
            prices, len(where.holders), decision.near.seconds, decision.here.seconds
        ),
    }  # fmt: skip


def _show(where: Spread, decision: Decision | None, reasons: list[str], report: dict[str, Any]) -> None:
    out = console(sys.stderr)
    for node, holder in sorted(where.holders.items()):
        line(out, f"map-near: {holder.bytes / 1e6:.1f} MB on {node}")
    for reason in reasons:
        line(out, f"map-near: {reason}")
    if decision is not None:
        for name, prediction in (("near", decision.near), ("here", decision.here)):
            line(out, f"map-near: {name} {prediction.seconds:.2f} s predicted, {prediction.bound_by} binds, "
                 f"{prediction.wire_bytes / 1e6:.1f} MB over the network")  # fmt: skip
    if report["price_performance"] is not None:
        line(out, f"map-near: price and performance near, over here: {report['price_performance']:.2f}")


def _finish(result: Result, report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        sys.stderr.write(json.dumps({**report, "measured": asdict(result)}) + "\n")
        return
    for node, why in result.failures.items():
        line(console(sys.stderr), f"map-near: {node} failed: {why}")
    moved = f", {result.moved} not where planned" if result.moved else ""
    tasks = "1 task" if result.tasks == 1 else f"{result.tasks} tasks"
    line(console(sys.stderr), f"map-near: {tasks} in {result.seconds:.2f} s{moved}, "
         f"{result.cpu_seconds:.2f} CPU seconds, {result.returned / 1e6:.1f} MB returned"
         + (f", {result.shuffled / 1e6:.1f} MB between nodes" if result.shuffled else "")
         + (f", {result.waited_seconds:.2f} s waited for others" if result.waited_seconds >= 0.1 else "")
         )  # fmt: skip
