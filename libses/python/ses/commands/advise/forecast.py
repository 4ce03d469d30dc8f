"""``ses advise``: how long a program would take on each element, and what limits it there."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_NOT_FOUND, NotFoundError, SesError, UsageError
from ses_client.messages.requirements import Subject
from ses_client.messages.vocabulary import Profile

from ses.amounts import LinkRate
from ses.api.library import LibraryError, library
from ses.commands.advise.last import compare
from ses.commands.examples import examples
from ses.commands.options import service_command, subject_options
from ses.last_forecast import Kept, keep
from ses.output import console, line, number, print_json, say, table
from ses.own_link import Link, own_link
from ses.profiling.darshan import read_log
from ses.profiling.functions import worth_moving
from ses.profiling.needs import MIN_BYTES, implied
from ses.profiling.phases import BOTH
from ses.profiling.result import Phase, ProgramProfile, from_json
from ses.profiling.run import profile as run_and_watch
from ses.streaming.advice import Forecast, Place, Work, advice, fitting, fitting_on_all, forecasts


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=examples("ses advise -- ./simulation input.dat", "ses advise --profile alice:simulation"),
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[--] [PROGRAM [ARGUMENT]...]")
@click.option(
    "--profile", "kept", metavar="FILE|NAME",
    help="Instead of running PROGRAM: what ses profile --output wrote of it, or a profile by its name that "
    "ses profile --save profile NAME stored.",
)  # fmt: skip
@click.option(
    "--darshan", type=click.Path(path_type=Path, dir_okay=False), metavar="LOG",
    help="Instead of running PROGRAM: a Darshan log of it.",
)  # fmt: skip
@click.option("--system", help="Only this storage system.  [all where files are placed]")
@click.option(
    "--link", type=LinkRate(), metavar="RATE",
    help="What the link of the node carries, like 12.5GB/s.  [default: what ses calibrate --node measured of "
    "this node, else what the site says of its class]",
)  # fmt: skip
@click.option("--in-turn", is_flag=True, help="The program waits for each transfer (O_DIRECT, O_SYNC).")
@click.option(
    "--last", is_flag=True,
    help="Instead of a forecast: your last one beside what the files placed since then achieved.",
)  # fmt: skip
@click.option("--job", help="With --last: only files of this job.")
@subject_options
@service_command
def advise(
    client: ServiceClient,
    as_json: bool,
    program: tuple[str, ...],
    kept: str | None,
    darshan: Path | None,
    system: str | None,
    link: float | None,
    in_turn: bool,
    last: bool,
    job: str | None,
    subject: Subject,
) -> None:
    """Predict how long PROGRAM would take on each element, and what limits it there.

    PROGRAM is run and measured, as by ses profile, unless a profile is given.  For each element that could be
    chosen now, and for 2, 4, 8 and 16 stripes over the best: the time, the resource that binds, and how many
    such programs fit before storage is what limits them; then what to change first.  The model and what it
    leaves out: docs/streaming.md.  Exits with 5 when no element is left.  The forecast is kept for
    --last, which exits with 5 when nothing was forecast or no file ended since.
    """
    if (bool(program), kept is not None, darshan is not None, last).count(True) != 1:
        raise UsageError("Give one of: a program, --profile FILE or NAME, --darshan LOG, --last.")
    _need_libses()
    if last:
        compare(client, as_json, subject.application, job)
        return
    stated = None if link is None else Link(link, stated=True)
    stored = _stored(client, kept) if kept is not None and not Path(kept).exists() else None
    measured, status = _profile(program, kept, darshan) if stored is None else (_as_run(stored), 0)
    if status:
        say(f"{program[0]} ended with status {status}: what follows is of that run.", err=True)
    needs = [item.requirement for item in implied(measured)] if stored is None else stored.requirements
    moved = measured.read_bytes + measured.written_bytes
    if moved < MIN_BYTES:
        raise UsageError(f"The program moved {moved / 1e6:.1f} MB: too little for storage to matter to it.")
    selection = client.select(subject, needs, storage_system=system, limit=0)
    places = [
        Place(candidate.element, candidate.available.read_mb_s * 1e6, candidate.available.write_mb_s * 1e6)
        for candidate in selection.candidates
        if candidate.available.read_mb_s is not None and candidate.available.write_mb_s is not None
    ]
    if not places:
        say("No element is left whose rates are known.", err=True)
        raise SystemExit(EXIT_NOT_FOUND)
    carries = own_link(client, subject.user) if stated is None else stated
    work = _work(measured, in_turn)
    predicted = forecasts(work, places, carries.rate)
    hint = advice(predicted[0], predicted, work)
    named = " ".join(measured.command) or "a program"
    who = subject.user, subject.application
    keep(Kept(time.time(), named, *who, work, tuple(places), carries.rate))
    if as_json:
        print_json(
            {
                "measured_seconds": measured.seconds,
                "advice": hint,
                "worth_moving": worth_moving(measured),
                "forecasts": [_facts(forecast) for forecast in predicted],
                "together_on_all": sum(each.together for each in predicted if len(each.elements) == 1),
                "link": _link_facts(carries),
                "notes": list(selection.notes),
            }
        )
    else:
        _show(measured, predicted, carries, hint, bool(program), selection.notes)


def _need_libses() -> None:
    """Raise SesError where the library is missing that has the model's formulas, before anything is run."""
    try:
        library()
    except LibraryError as error:
        raise SesError(str(error)) from None


def _stored(client: ServiceClient, name: str) -> Profile:
    """Return a profile of the knowledge base that was measured."""
    stored = client.vocabulary().profile(name)
    if stored is None:
        raise NotFoundError(f"There is no file or profile {name!r}. ses requirements kinds lists profiles.")
    if stored.measured is None:
        raise UsageError(
            f"The profile {name} says what is required, not what a program moves: it was not measured. "
            f"Measure one, like: ses profile --save profile USER:NAME -- PROGRAM."
        )
    return stored


def _as_run(stored: Profile) -> ProgramProfile:
    """Return the run a profile was measured in, as one phase."""
    run = stored.measured
    assert run is not None  # _stored gives no other
    read, written, used = int(run.read_bytes), int(run.written_bytes), run.cores * run.seconds
    phase = Phase(BOTH, 0.0, run.seconds, read, written, used)
    return ProgramProfile(
        (stored.profile,), run.seconds, run.processor_seconds, read, written, 0, 0, (), (phase,)
    )


def _profile(program: tuple[str, ...], kept: str | None, darshan: Path | None) -> tuple[ProgramProfile, int]:
    """Return what a run did, and its exit status where the program is run now."""
    if darshan is not None:
        return read_log(darshan), 0
    if kept is None:
        return run_and_watch(program)
    try:
        return from_json(json.loads(Path(kept).read_text("utf-8"))), 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{kept} is not what ses profile --output writes: {error}.") from None


def _work(measured: ProgramProfile, in_turn: bool) -> Work:
    moved = (measured.read_bytes, measured.written_bytes)
    return Work(*moved, measured.cpu_seconds, float(measured.cores), not in_turn)


def _facts(forecast: Forecast) -> dict[str, Any]:
    allowed = {str(name): rate / 1e6 for name, rate in forecast.allowed.items() if math.isfinite(rate)}
    return {
        "elements": list(forecast.elements),
        "seconds": forecast.seconds if math.isfinite(forecast.seconds) else None,
        "binding": str(forecast.binding),
        "allowed_mb_s": allowed,
        "together": forecast.together,
        "alone_mb_s": forecast.alone / 1e6 if math.isfinite(forecast.alone) else None,
    }


def _link_facts(link: Link) -> dict[str, Any]:
    return {
        "mb_s": link.rate / 1e6 if math.isfinite(link.rate) else None,
        "from": link.source(),
        "calibrated_at": link.measured_at,
    }


def _show(
    measured: ProgramProfile,
    predicted: list[Forecast],
    link: Link,
    hint: str,
    ran: bool,
    notes: Sequence[str],
) -> None:
    out = console(sys.stderr if ran else sys.stdout)
    line(
        out,
        f"Measured: {measured.seconds:.1f} s, {(measured.read_bytes + measured.written_bytes) / 1e6:.0f} MB, "
        f"{measured.cpu_seconds:.1f} s of processor time.",
    )
    line(out, str(link))
    rows = []
    for forecast in predicted:
        rates = [f"{name} {rate / 1e6:.0f}" for name, rate in forecast.allowed.items() if math.isfinite(rate)]
        where = forecast.elements[0] if len(forecast.elements) == 1 else f"{len(forecast.elements)} stripes"
        rows.append(
            [where, number(forecast.seconds), str(forecast.binding), ", ".join(rates), str(forecast.together)]
        )
    table(out, ("where", ">seconds", "binds", "would allow, MB/s", ">fit at once"), rows)
    line(out, f"Fit at once, {fitting(min(predicted, key=lambda forecast: forecast.seconds))}")
    line(out, f"Fit at once, {fitting_on_all(predicted)}")
    line(out, hint)
    if moving := worth_moving(measured):
        line(out, moving)
    for note in notes:
        line(out, f"Note: {note}", "yellow")
