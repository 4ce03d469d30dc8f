"""Runs a program and looks at it now and then; takes half a hundredth of a processor at most.

The program is not changed and not traced: nothing waits for a look.  What it and all its children moved in
all is exact, as the kernel adds it up; which file it was is known as far as looks show it.  Processes that
go on after the program has ended, or that nobody waited for, are not counted.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ses_client.errors import CannotRunError, NoProgramError, SesError

from ses.profiling.attribution import Attribution
from ses.profiling.counters import Counters
from ses.profiling.functions import TOOL, Functions, is_there
from ses.profiling.phases import Totals, phases
from ses.profiling.proc import (
    ENDLESS_SINK,
    ENDLESS_SOURCE,
    Look,
    Moved,
    ProcessLook,
    look_at,
    moved_by,
    running_on,
)
from ses.profiling.result import ProgramProfile

SHORTEST_SECONDS = 0.02
MAX_SECONDS = 0.25
"""Between two looks: a fiftieth of the time so far, within these; at least what two hundred looks take."""
_PART, _SHARE = 0.02, 0.005
_KEPT = 20_000
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def profile(
    command: Sequence[str], calls: bool = False, functions: bool = False
) -> tuple[ProgramProfile, int]:
    """Run a program to its end; return what it did and its exit status (128 + signal when killed).

    ``calls``: count its metadata operations, too.  ``functions``: look at its stacks, too, which stops it for
    some milliseconds each time.  Raises NoProgramError, CannotRunError, SesError.
    """
    if functions and not is_there():
        raise SesError(f"There is no {TOOL} here, which looks at stacks: install elfutils.")
    stacks = Functions() if functions else None
    inherited = _inherited()
    running: int | None = None
    unsent: list[int] = []  # signals that came before there was a program, or when it had ended

    def forward(number: int, _frame: object) -> None:
        if running is None:
            unsent.append(number)
        else:
            _forward(running, number, unsent)

    counters = Counters(calls)
    began, cpu_before = time.monotonic(), _children_cpu()
    forwarded = [
        number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN
    ]  # by nohup
    handlers = {number: signal.signal(number, forward) for number in forwarded}
    try:
        pid = _begun(command)
        running = os.pidfd_open(pid)
        # The terminal sends it to both.
        handlers[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
        early, unsent[:] = unsent[:], []
        for number in early:
            _forward(running, number, unsent)
        attribution, totals = Attribution(inherited), [Totals(began, 0, 0, 0.0)]
        left = _watch(pid, running, attribution, totals, stacks)
        ended = time.monotonic()
        moved = moved_by(pid)
        for process in left:
            moved = moved.plus(process.moved)
        counted = counters.read()
        _, status, used = os.wait4(pid, 0)
    finally:
        counters.close()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if running is not None:
            os.close(running)
        for number in unsent:
            signal.raise_signal(number)
    cpu = _children_cpu() - cpu_before + sum(process.cpu_seconds for process in left)
    cpu -= stacks.cost_seconds if stacks else 0.0
    moved = moved.without(*attribution.no_storage)
    totals.append(Totals(ended, moved.read_bytes, moved.written_bytes, cpu))
    read_streams, write_streams = attribution.streams()
    measured = ProgramProfile(
        command=tuple(command),
        seconds=ended - began,
        cpu_seconds=cpu,
        files=attribution.files(),
        phases=phases(totals),
        processes=attribution.most_processes,
        open_files=attribution.max_open,
        read_streams=read_streams,
        write_streams=write_streams,
        **moved._asdict(),
        counters={
            **counted,
            "page faults": used.ru_minflt + used.ru_majflt,
            "context switches": used.ru_nvcsw + used.ru_nivcsw,
        },
        functions=stacks.listed() if stacks else (),
    )
    exited = os.waitstatus_to_exitcode(status)
    notes = [
        *_no_storage_notes(attribution.endless, attribution.piped),
        *_left_notes(len(left)),
        *_notes(measured, counters.refused, calls),
        *(
            f"functions: of {count} looks, {why}"
            for why, count in (stacks.failures if stacks else {}).items()
        ),
    ]
    return replace(measured, notes=tuple(notes)), 128 - exited if exited < 0 else exited


def _inherited() -> dict[int, str]:
    """Return what each descriptor leads to that a program started here may have from the start."""
    inherited = {}
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            inherited[int(link.name)] = str(link.readlink())
    return inherited


def _watch(
    pid: int, running: int, attribution: Attribution, totals: list[Totals], stacks: Functions | None
) -> list[ProcessLook]:
    """Look until the program (``running`` is its pidfd) has ended; leave it to be waited for.

    Returns the processes that go on.
    """
    pause, last, look = SHORTEST_SECONDS, 0.0, Look(0.0, {})
    while not _has_ended(running, pause):
        used = time.thread_time()
        look = look_at(pid)
        attribution.add(look)
        if stacks is not None:
            before = _children_cpu()
            stacks.add(look)
            stacks.cost_seconds += _children_cpu() - before
        totals.append(_totals(look, attribution))
        if len(totals) > _KEPT:
            del totals[1:-1:2]
        pause = min(max(SHORTEST_SECONDS, _PART * (look.at - totals[0].at)), MAX_SECONDS)
        used = time.thread_time() - used
        pause, last = max(pause, min(used, last) / _SHARE), used  # one slow look changes nothing
    attribution.add(look_at(pid))
    return running_on(look, pid)


def _has_ended(running: int, within: float) -> bool:
    return bool(select.select([running], [], [], within)[0])


def _totals(look: Look, attribution: Attribution) -> Totals:
    moved, cpu = Moved(), 0.0
    for process in look.processes.values():
        moved, cpu = moved.plus(process.moved), cpu + process.cpu_seconds
    moved = moved.without(*attribution.no_storage)
    return Totals(look.at, moved.read_bytes, moved.written_bytes, cpu)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _begun(command: Sequence[str]) -> int:
    """Start a program; return its process.  Raises NoProgramError, CannotRunError."""
    try:
        return os.posix_spawnp(command[0], list(command), os.environ, setsigdef=_IGNORED_BY_PYTHON)
    except FileNotFoundError:
        raise NoProgramError(f"There is no program {command[0]}.") from None
    except ValueError:
        raise NoProgramError("An empty word is no program.") from None
    except OSError as error:
        raise CannotRunError(f"{command[0]} cannot be run: {error.strerror}.") from None


def _forward(running: int, number: int, late: list[int]) -> None:
    """Send the program a signal; one that comes when it has ended is for this process."""
    if _has_ended(running, 0):
        late.append(number)
    else:
        signal.pidfd_send_signal(running, number)


def _no_storage_notes(endless: tuple[int, int], piped: int) -> list[str]:
    amounts = (
        (endless[0], f"read from {ENDLESS_SOURCE} or random numbers"),
        (endless[1], f"written to {ENDLESS_SINK}"),
        (piped, "written to pipes and read from them by its own processes"),
    )
    large = [(moved / 1e6, what) for moved, what in amounts if moved >= 1e6]
    return [f"{mega:.0f} MB {what} are not counted: it is no storage" for mega, what in large]


def _left_notes(count: int) -> list[str]:
    if not count:
        return []
    several = "1 process" if count == 1 else f"{count} processes"
    return [f"{several} that it started went on after its end; what was moved then is not counted"]


def _notes(measured: ProgramProfile, refused: dict[str, str], calls: bool) -> list[str]:
    notes = []
    for name, way in (("read", 0), ("written", 1)):
        whole = (measured.read_bytes, measured.written_bytes)[way]
        known = sum((file.read_bytes, file.written_bytes)[way] for file in measured.files)
        if whole - known > max(1e6, 0.05 * whole):
            notes.append(
                f"{(whole - known) / 1e6:.0f} MB {name} belong to no file that was seen: pipes, sockets, "
                "devices, several files at once, or files open for less than the time between two looks"
            )
    for name, why in refused.items():
        notes.append(f"{name}: not counted ({why})")
    if not calls:
        notes.append("metadata operations: not counted (--calls)")
    notes.append("bytes read or written by memory mapping or io_uring are in what devices moved only")
    return notes
