"""What a program did when: its looks cut into phases of one kind each.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ses.profiling.result import Phase

READS, WRITES, BOTH, COMPUTES, WAITS = "reads", "writes", "reads and writes", "computes", "waits"

MIN_RATE = 1e6
"""Bytes per second above which a program counts as reading or writing: less is its libraries and its log."""
WINDOW_SECONDS = 0.25
"""Looks are compared over this time; a phase is one window at least."""
_BUSY = 0.1
"""Part of one processor that a program uses when it computes."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a program has moved and used since its start."""

    at: float
    read_bytes: int
    written_bytes: int
    cpu_seconds: float


def phases(totals: Sequence[Totals]) -> tuple[Phase, ...]:
    """Return the phases between the first and the last of these; times since the first."""
    if len(totals) < 2:
        return ()
    began = totals[0].at
    joined: list[Phase] = []
    for before, after in pairwise(_windows(totals)):
        phase = _phase(before, after, began)
        if joined and joined[-1].kind == phase.kind:
            joined[-1] = _joined(joined[-1], phase)
        else:
            joined.append(phase)
    return tuple(joined)


def _windows(totals: Sequence[Totals]) -> list[Totals]:
    """Leave out what lies closer together than a window; the last stays."""
    kept = [totals[0]]
    for look in totals[1:]:
        if look.at - kept[-1].at >= WINDOW_SECONDS:
            kept.append(look)
    if kept[-1] is not totals[-1]:
        if len(kept) > 1:
            kept.pop()
        kept.append(totals[-1])
    return kept


def _phase(before: Totals, after: Totals, began: float) -> Phase:
    seconds = max(after.at - before.at, 1e-9)
    read = max(0, after.read_bytes - before.read_bytes)
    written = max(0, after.written_bytes - before.written_bytes)
    cpu = max(0.0, after.cpu_seconds - before.cpu_seconds)
    reads, writes = read / seconds >= MIN_RATE, written / seconds >= MIN_RATE
    if reads or writes:
        kind = BOTH if reads and writes else READS if reads else WRITES
    else:
        kind = COMPUTES if cpu / seconds >= _BUSY else WAITS
    return Phase(kind, before.at - began, seconds, read, written, cpu)


def _joined(a: Phase, b: Phase) -> Phase:
    return replace(
        a,
        seconds=a.seconds + b.seconds,
        read_bytes=a.read_bytes + b.read_bytes,
        written_bytes=a.written_bytes + b.written_bytes,
        cpu_seconds=a.cpu_seconds + b.cpu_seconds,
    )
