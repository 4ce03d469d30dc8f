"""``ses demo``: the whole chain on this machine, with unmodified programs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click
from rich.console import Console
from ses_client.errors import EXIT_FAILED

from ses.commands.examples import examples
from ses.commands.options import Existing
from ses.demo.interrupts import stoppable
from ses.demo.report import Report
from ses.demo.report import show as show_report
from ses.demo.run import Options, Running, demonstrate
from ses.demo.slurm.report import JobsReport, show_jobs
from ses.demo.slurm.run import demonstrate_jobs
from ses.output import USUAL, console, line, write_json


@click.command(epilog=examples("ses demo", "ses demo --keep"))
@click.option("--keep", is_flag=True, help="Leave everything running afterwards, until Ctrl-C.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write the results as JSON to this file (-: standard output, and the rest to standard error).",
)  # fmt: skip
@click.option(
    "--size", "megabytes", type=click.IntRange(1, 24), default=24, show_default=True, metavar="MB",
    help="Size of each program's file.",
)  # fmt: skip
@click.option(
    "--build", type=Existing(file_okay=False),
    help="Where CMake built libses. [build/libses of the checkout]",
)  # fmt: skip
@click.option(
    "--slurm",
    is_flag=True,
    help="Show jobs of a small Slurm instead: what they asked for, and what they got.",
)
def demo(keep: bool, json_file: Path | None, megabytes: int, build: Path | None, slurm: bool) -> None:
    """Place files of unmodified programs on eight small file systems, and show why there.

    Needs root. Makes eight ext4 file systems of different speeds under one mergerfs union, starts
    the whole chain on free loopback ports, keeps two branches busy, runs programs with and without
    the library, one after the other and eight at the same time, and undoes everything at the end.
    With --slurm, jobs of a Slurm with two nodes write there, and one is refused. Exits with 1 when a
    file is not where it was placed or another place was nearer to what it needs, and with 128 and the
    signal's number when stopped by one.
    """
    as_dash = json_file is not None and str(json_file) == "-"
    out = console(sys.stderr if as_dash else sys.stdout, width=USUAL)
    if json_file is not None and not as_dash and not json_file.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no directory {json_file.absolute().parent}", param_hint="--json")
    if slurm and keep:
        raise click.UsageError("--slurm leaves nothing running: it does not go with --keep.")
    kept = False
    with stoppable(out, lambda number: 0 if kept else 128 + number) as (interrupts, progress):

        def show(report: Report | JobsReport) -> None:
            progress.clear()
            if isinstance(report, JobsReport):
                show_jobs(out, report)
            else:
                show_report(out, report)
            if json_file is not None:
                write_json(json_file, report.as_json())

        def show_running(running: Running) -> None:
            progress.clear()
            nonlocal kept
            kept = True
            _show_running(out, running)

        options = Options(megabytes, build)
        report: Report | JobsReport = (
            demonstrate_jobs(options, interrupts, progress.step, show)
            if slurm
            else demonstrate(options, interrupts, progress.step, show, show_running if keep else None)
        )
    if not report.verified:
        raise SystemExit(EXIT_FAILED)


def _show_running(out: Console, running: Running) -> None:
    ses = shlex.quote(sys.argv[0])
    line(out)
    for text in (
        f"Portal   {running.portal_url}  (account {running.account}, password {running.password})",
        f"API      {running.service_url}/openapi.json  (token in {running.token_file})",
        f"Union    {running.union}",
        "",
        "Why each file is where it is:",
        *(f"  {running.portal_url}{path}  {file}" for file, path in running.pages),
        "",
        "In another shell:",
        f"  export SES_SERVICE_URL={running.service_url} SES_TOKEN_FILE={running.token_file}",
        f"  export SES_AGENT_SOCKET={running.socket}",
        f"  {ses} elements",
        f"  LD_PRELOAD={running.preload} dd if=/dev/zero of={running.union}/mine bs=1M count=20",
        f"  {ses} explain {running.union}/mine",
        "",
        "Everything is left running. Ctrl-C stops it and removes it.",
    ):
        out.print(text, soft_wrap=True)
