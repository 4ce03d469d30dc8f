"""``ses profile``: what an unmodified program reads, writes and computes, and what that asks of storage."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, SesError, UsageError
from ses_client.visible import on_one_line

from ses.commands.examples import examples
from ses.commands.options import Number, service_command
from ses.commands.requirements.storing import save_option, store
from ses.output import console, line, number, print_json, table, write_json
from ses.profiling.darshan import read_log
from ses.profiling.functions import worth_moving
from ses.profiling.needs import MARGIN, Implied, implied, listed
from ses.profiling.result import Phase, ProgramProfile
from ses.profiling.run import profile as run_and_watch
from ses.profiling.turtle import check_name, turtle_of
from ses.quantities import written

_MAX_FILES = 10
_LARGE = 1e6


@click.command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog=examples(
        "ses profile -- ./simulation input.dat",
        "ses profile --save profile alice:simulation -- ./simulation input.dat",
    ),
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[--] [PROGRAM [ARGUMENT]...]")
@click.option(
    "--darshan", type=click.Path(path_type=Path, dir_okay=False), metavar="LOG",
    help="Instead of running PROGRAM: a Darshan log of it, or what darshan-parser prints of one.",
)  # fmt: skip
@click.option("--calls", is_flag=True, help="Count metadata operations; needs root, and slows down calls.")
@click.option(
    "--functions", is_flag=True,
    help="Say which commands and functions moved the bytes; needs elfutils, and stops the program for some "
    "milliseconds at each look.",
)  # fmt: skip
@click.option(
    "--margin", default=MARGIN, show_default=True, type=Number(1.0, 10.0),
    help="How much more to require than was measured.",
)  # fmt: skip
@save_option
@click.option(
    "--turtle", metavar="NAME",
    help="Print a profile of this name as Turtle, for the site's vocabulary (SES_VOCABULARY).",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the profile to FILE as JSON.",
)  # fmt: skip
@service_command
def profile(
    client: ServiceClient,
    as_json: bool,
    program: tuple[str, ...],
    darshan: Path | None,
    calls: bool,
    functions: bool,
    margin: float,
    save: tuple[str, str] | None,
    turtle: str | None,
    output: Path | None,
) -> None:
    """Run PROGRAM, say what it moved and computed, and what it needs of storage.

    PROGRAM is not changed: the kernel's counts of it and its children are read every 20 ms at first, later
    four times a second, for half a hundredth of a processor at most.  Sums are exact; which file was meant
    is seen of files that are open for longer than that.  Exits with the status of PROGRAM; its profile goes
    to standard error, or with --json to standard output.  What each line means: docs/streaming.md.
    """
    if bool(program) == (darshan is not None):
        raise UsageError("Give a program, like: ses profile -- tar cf out.tar in; or --darshan LOG.")
    if output is not None and not output.parent.is_dir():
        raise NotFoundError(f"There is no directory {output.parent} to write {output.name} into.")
    if turtle is not None:
        check_name(turtle)
    measured, status = run_and_watch(program, calls, functions) if darshan is None else (read_log(darshan), 0)
    needs = implied(measured, margin)
    facts = {**measured.as_json(), "requirements": listed(needs)}
    if turtle is not None:
        click.echo(turtle_of(turtle, needs, measured))
    elif as_json:
        print_json(facts)
    else:
        _show(console(sys.stderr if program else sys.stdout), measured, needs)
    if output is not None:
        write_json(output, facts)
    if save is not None:
        if not needs:
            raise SesError("The program moved too little to require anything; nothing was stored.")
        store(client, save, [need.requirement for need in needs], _about(measured))
    raise SystemExit(status)


def _about(measured: ProgramProfile) -> dict[str, object]:
    program = Path(measured.command[0]).name if measured.command else "a program"
    return {
        "definition": f"What {program} needed when it was measured."[:500],
        "measured": {
            "read_bytes": measured.read_bytes,
            "written_bytes": measured.written_bytes,
            "seconds": measured.seconds,
            "processor_seconds": measured.cpu_seconds,
            "cores": measured.cores,
        },
    }


def _show(out: Console, measured: ProgramProfile, needs: tuple[Implied, ...]) -> None:
    program = " ".join(measured.command) or "unknown program"
    line(out, f"{program}: {measured.seconds:.1f} s, {measured.source}")
    moved = (
        ("read", measured.read_bytes, measured.read_calls),
        ("written", measured.written_bytes, measured.write_calls),
    )
    sums = [f"{name} {_mega(size)} in {calls} calls{_mean(size, calls)}" for name, size, calls in moved]
    line(out, f"  {', '.join(sums)}; processor {measured.cpu_seconds:.1f} s")
    line(out, f"  at most {measured.processes} processes and {measured.open_files} open files at a time")
    if measured.device_read_bytes is not None and measured.device_written_bytes is not None:
        line(
            out,
            f"  block devices read {_mega(measured.device_read_bytes)} and wrote "
            f"{_mega(measured.device_written_bytes)} for it (network file systems are not among them)",
        )
    if measured.counters:
        line(out, "  " + ", ".join(f"{name} {value}" for name, value in measured.counters.items()))
    rows = [_phase(phase) for phase in measured.phases if phase.seconds > 0]
    if rows:
        line(out)
        table(out, ("phase", ">at s", ">for s", ">read", ">written", ">MB/s", ">processor"), rows)
    large = [file for file in measured.files if file.read_bytes + file.written_bytes >= _LARGE]
    if large:
        line(out)
        rows = [[on_one_line(file.path), _mega(file.read_bytes), _mega(file.written_bytes), file.pattern]
                for file in large[:_MAX_FILES]]  # fmt: skip
        table(out, ("file", ">read", ">written", "order"), rows)
        if len(large) > _MAX_FILES:
            line(out, f"and {len(large) - _MAX_FILES} files more (--json)")
    _show_functions(out, measured)
    line(out)
    for note in measured.notes:
        line(out, f"Note: {note}.")
    line(out, "\nWhat it implies:" if needs else "It moved too little to require anything.")
    for need in needs:
        line(out, f"  {written(need.requirement)}: {need.arithmetic}")


def _show_functions(out: Console, measured: ProgramProfile) -> None:
    if not measured.functions:
        return
    rows = [
        [on_one_line(use.command), on_one_line(use.function) or "(all)", str(use.looks),
         _mega(use.read_bytes), _mega(use.written_bytes), f"{use.cpu_seconds:.1f} s"]
        for use in measured.functions[:_MAX_FILES]
    ]  # fmt: skip
    line(out)
    table(out, ("command", "function", ">looks", ">read", ">written", ">processor"), rows)
    if len(measured.functions) > _MAX_FILES:
        line(out, f"and {len(measured.functions) - _MAX_FILES} functions more (--json)")
    if hint := worth_moving(measured):
        line(out, hint)


def _phase(phase: Phase) -> list[str]:
    moved = phase.read_bytes + phase.written_bytes
    times = [f"{phase.begin:.1f}", f"{phase.seconds:.1f}"]
    sizes = [_mega(phase.read_bytes), _mega(phase.written_bytes), number(moved / phase.seconds / 1e6)]
    return [phase.kind, *times, *sizes, f"{phase.cpu_seconds / phase.seconds:.0%}"]


def _mega(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def _mean(moved: int, calls: int) -> str:
    return f" ({moved / calls / 1e3:.1f} kB each)" if calls else ""
