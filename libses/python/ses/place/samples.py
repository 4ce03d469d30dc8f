"""How busy devices are, from two looks at their counters: the first one may be that of an earlier choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ses.place.devices import Counters, counters_of

SHORTEST, LONGEST = 0.1, 5.0  # seconds between two looks: less is chance, more is of another time
_PAUSE = 0.12


@dataclass(frozen=True, slots=True)
class Load:
    """Over a window: the part of it in use, the mean number of requests, and bytes moved in a second."""

    since: float
    busy: float
    queue: float
    moved: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters of a device at a time since the machine started, and the load up to it, if it is known."""

    at: float
    counters: Counters
    load: Load | None = None


def clock() -> float:
    """Return seconds since the machine started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def measure(
    devices: Iterable[str],
    kept: Mapping[str, Sample],
    look: Callable[[Iterable[str]], Mapping[str, Counters]] = counters_of,
) -> dict[str, Sample]:
    """Return a sample with a load of each device that counts; waits only where none that is kept serves."""
    asked = set(devices)
    first = _look(asked, look)
    found = {name: _after(kept.get(name), one) for name, one in first.items()}
    if all(one.load for one in found.values()):
        return found
    time.sleep(_PAUSE)
    for name, one in _look(asked, look).items():
        if name in found and found[name].load is None:
            found[name] = _after(first[name], one)
    return found


def _look(names: set[str], look: Callable[[Iterable[str]], Mapping[str, Counters]]) -> dict[str, Sample]:
    at = clock()
    return {name: Sample(at, counters) for name, counters in look(names).items()}


def _after(before: Sample | None, now: Sample) -> Sample:
    """Return the later sample with the load since the earlier one, or the earlier one if it is of now."""
    if before is None or not 0 <= (seconds := now.at - before.at) <= LONGEST:
        return now
    if seconds < SHORTEST:
        return before if before.load else now
    busy, queue, moved = (
        later - earlier
        for later, earlier in (
            (now.counters.busy_ms, before.counters.busy_ms),
            (now.counters.queue_ms, before.counters.queue_ms),
            (now.counters.moved, before.counters.moved),
        )
    )
    if min(busy, queue, moved) < 0:  # the device is another one by now
        return now
    per_second = 1 / seconds
    load = Load(before.at, min(1.0, busy * per_second / 1e3), queue * per_second / 1e3, moved * per_second)
    return Sample(now.at, now.counters, load)
