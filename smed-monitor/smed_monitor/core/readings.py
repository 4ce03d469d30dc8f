"""What one sample says about all elements of a target, as one table of numbers.  Pure.

A target has tens of elements and is looked at every second: numbers side by side are folded into rates by
a few steps for all of them, where a step for each element costs ten times as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smed_monitor.core.errors import ElementMissingError
from smed_monitor.core.model import Reading
from smed_monitor.core.rates import Table

COUNTERS = 5
READ, WRITTEN, QUEUE, OPERATIONS, BUSY = range(COUNTERS)
"""The columns that are counters, in the order they are folded in."""
IN_FLIGHT, FREE, SIZE, STARTED, STAMP, SERVER_SECONDS, SERVER_OPERATIONS = range(COUNTERS, 12)
WIDTH = 12

Flags = tuple[bool, bool, bool]


@dataclass(frozen=True, slots=True)
class Readings:
    """One row per element.

    ``numbers`` has shape (elements, WIDTH), NaN where the target does not say; its row is NaN where
    ``absent`` holds the reason why the element is not in the sample (empty: it is).  ``flags`` are
    read_only, degraded, no_create.
    """

    numbers: Table
    devices: tuple[str, ...]
    flags: tuple[Flags, ...]
    notes: tuple[str, ...]
    absent: tuple[str, ...]


def stacked(readings: Sequence[Reading | ElementMissingError]) -> Readings:
    """The readings of all elements, or why there is none."""
    there = [each if isinstance(each, Reading) else Reading(device="") for each in readings]
    return Readings(
        numbers=np.array([numbers_of(each) for each in there], np.float64).reshape(len(there), WIDTH),
        devices=tuple(each.device for each in there),
        flags=tuple((each.read_only, each.degraded, each.no_create) for each in there),
        notes=tuple(each.note for each in there),
        absent=tuple("" if isinstance(each, Reading) else str(each) for each in readings),
    )


def numbers_of(reading: Reading) -> tuple[float | None, ...]:
    """One row of numbers."""
    server = reading.server_queue
    return (
        reading.read_bytes,
        reading.written_bytes,
        reading.request_seconds,
        reading.operations,
        reading.busy_seconds,
        reading.in_flight,
        reading.free_bytes,
        reading.size_bytes,
        reading.started,
        reading.stamp,
        server.request_seconds if server else None,
        server.operations if server else None,
    )
