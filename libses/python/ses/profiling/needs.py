"""What a program that was measured needs of storage, as requirements with their arithmetic.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ses_client.messages.requirements import Requirement, required

from ses.profiling.phases import BOTH, READS, WRITES
from ses.profiling.result import ProgramProfile

MARGIN = 1.25
"""The rate of one run is one sample; other runs of the same program differ by a quarter at times."""
_MIN_RATE = 1.0
"""MB/s; a slower stream finds its rate everywhere."""
MIN_BYTES = 1_000_000
"""What loading a program and its settings reads at least; less shows no rate."""
_MIN_GB = 0.001


@dataclass(frozen=True, slots=True)
class Implied:
    """A requirement, and how it was computed."""

    requirement: Requirement
    arithmetic: str


def implied(profile: ProgramProfile, margin: float = MARGIN) -> tuple[Implied, ...]:
    """Return what the run implies: with that much of storage it would be no slower than it was.

    The rate of a direction is its bytes over the time of the phases in which they moved, for each of the
    files that moved together, as each is placed by itself.  Capacity is that of the largest file written.
    """
    needs = []
    for kind, name, moves, streams in (
        ("current-read-rate", "read", {READS, BOTH}, profile.read_streams),
        ("current-write-rate", "written", {WRITES, BOTH}, profile.write_streams),
    ):
        busy = [phase for phase in profile.phases if phase.kind in moves]
        seconds = sum(phase.seconds for phase in busy)
        moved = sum(phase.read_bytes if name == "read" else phase.written_bytes for phase in busy)
        rate = moved / seconds / streams / 1e6 if seconds > 0 else 0.0
        if rate >= _MIN_RATE and moved >= MIN_BYTES:
            several = f" for each of {streams:.1f} files at a time" if streams >= 1.05 else ""
            needs.append(
                Implied(
                    required(kind, _rounded(rate * margin), "MB/s"),
                    f"{moved / 1e6:.0f} MB {name} in {seconds:.1f} s of phases = {rate:.1f} MB/s{several}, "
                    f"x {margin:g}",
                )
            )
    largest = max((file.written_bytes for file in profile.files), default=0) / 1e9
    if largest >= _MIN_GB:
        needs.append(
            Implied(
                required("free-capacity", _rounded(largest * margin), "GB"),
                f"{largest:.3f} GB written into the largest file, x {margin:g}",
            )
        )
    return tuple(needs)


def listed(needs: Iterable[Implied]) -> list[dict[str, object]]:
    """Return requirements with their arithmetic as JSON has them."""
    return [{**need.requirement.as_json(), "arithmetic": need.arithmetic} for need in needs]


def _rounded(value: float) -> float:
    """Round up to two digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / step) * step, 9)
