"""How busy devices and NFS servers are, from two looks at counters: the first may be an earlier choice's.

What a device moved while it was in use under claims is kept: it says what the device gives at best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ses_client.devices import MOUNTSTATS, NFS, SYS, Served, parse_mountstats
from ses_client.unions import parse_mounts

SHORTEST, LONGEST = 0.1, 5.0  # seconds between two looks: less is chance, more is of another time
_PAUSE = 0.12
_ENOUGH, _MOST = 1.0, 30.0  # seconds in use from which on a rate is known, and that count at most
_SECTOR = 512  # bytes, whatever the device says
_OWN = 0.5  # own streams from which on a window says what they get


@dataclass(frozen=True, slots=True)
class Counters:
    """What has passed since a moment that nobody needs to know: the difference of two is what counts.

    ``busy_ms`` in use, ``queue_ms`` summed over all requests that waited or were served, ``moved`` bytes.
    """

    busy_ms: int
    queue_ms: int
    moved: int


@dataclass(frozen=True, slots=True)
class Load:
    """Over a window: the part of it in use, the mean number of requests, and bytes moved in a second.

    ``own`` is the mean number of streams of claims, those that ended in it among them.
    """

    since: float
    busy: float
    queue: float
    moved: float
    own: float = 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """What a device moved in ``seconds`` in which it was in use under claims; the last ones count most."""

    moved: float = 0.0
    seconds: float = 0.0

    @property
    def rate(self) -> float | None:
        """Bytes per second; ``None`` where claims hardly used it."""
        return self.moved / self.seconds if self.seconds >= _ENOUGH and self.moved > 0 else None

    def after(self, load: Load, seconds: float) -> Learned:
        """Return what is known after a window of so many seconds."""
        busy = load.busy * seconds
        if load.own < _OWN or not busy:
            return self
        left = min(1.0, max(0.0, _MOST - busy) / self.seconds) if self.seconds else 0.0
        return Learned(left * self.moved + load.moved * seconds, left * self.seconds + busy)


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters of a device at a time since the machine started, and the load up to it, if it is known."""

    at: float
    counters: Counters
    load: Load | None = None
    learned: Learned = Learned()


def clock() -> float:
    """Return seconds since the machine started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def counters_of(
    devices: Iterable[str], sys: Path = SYS, mountstats: Path = MOUNTSTATS
) -> dict[str, Counters]:
    """Return the counters of each device that has some; tmpfs and overlays have none."""
    asked = set(devices)
    found = {}
    for name in asked:
        with suppress(OSError, ValueError, IndexError):
            counted = parse_block((sys / "dev/block" / name / "stat").read_bytes().decode("ascii"))
            if counted.busy_ms or counted.moved:  # one that never counted is in use all the same
                found[name] = counted
    if any(name.startswith(NFS) for name in asked):
        with suppress(OSError):
            mounts = parse_mounts(mountstats.with_name("mountinfo").read_bytes())
            servers = parse_mountstats(mountstats.read_text("utf-8", "surrogateescape"), mounts)
            found |= {NFS + name: _of_nfs(entry) for name, entry in servers.items() if NFS + name in asked}
    return found


def parse_block(text: str) -> Counters:
    """Return the counters in ``/sys/block/DEVICE/stat``.  Raises ValueError or IndexError."""
    numbers = [int(word) for word in text.split()]
    return Counters(numbers[9], numbers[10], (numbers[2] + numbers[6]) * _SECTOR)


def _of_nfs(served: Served) -> Counters:
    """A server is busy while requests are under way, and its queue holds those that a program waits for."""
    return Counters(served.round_trip_ms, served.whole_ms, served.read + served.written)


def measure(
    devices: Iterable[str],
    kept: Mapping[str, Sample],
    look: Callable[[Iterable[str]], Mapping[str, Counters]] = counters_of,
    began: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Sample]:
    """Return a sample with a load of each device that counts; waits only where none that is kept serves.

    ``began`` says of each device when its claims were made, on the clock of samples.
    """
    asked, claims = set(devices), began or {}
    found = {
        name: _after(kept.get(name), entry, claims.get(name, ()))
        for name, entry in _look(asked, look).items()
    }
    if all(entry.load for entry in found.values()):
        return found
    time.sleep(_PAUSE)
    for name, entry in _look(asked, look).items():
        if name in found and found[name].load is None:
            found[name] = _after(found[name], entry, claims.get(name, ()))
    return found


def _look(names: set[str], look: Callable[[Iterable[str]], Mapping[str, Counters]]) -> dict[str, Sample]:
    at = clock()
    return {name: Sample(at, counters) for name, counters in look(names).items()}


def _after(before: Sample | None, now: Sample, began: Sequence[float]) -> Sample:
    """Return the later sample with the load since the earlier one, or the earlier one if it is of now."""
    if before is None:
        return now
    now, seconds = replace(now, learned=before.learned), now.at - before.at
    if seconds < SHORTEST:
        return before if before.load and seconds >= 0 else now
    busy, queue, moved = (
        later - earlier
        for later, earlier in (
            (now.counters.busy_ms, before.counters.busy_ms),
            (now.counters.queue_ms, before.counters.queue_ms),
            (now.counters.moved, before.counters.moved),
        )
    )
    if min(busy, queue, moved) < 0:  # the device is another one by now
        return replace(now, learned=Learned())
    per_second = 1 / seconds
    own = sum(max(0.0, now.at - max(before.at, entry)) for entry in began) * per_second
    part, waiting = min(1.0, busy * per_second / 1e3), queue * per_second / 1e3
    load = Load(before.at, part, waiting, moved * per_second, own)
    learned = before.learned.after(load, seconds)
    return replace(now, load=load if seconds <= LONGEST else None, learned=learned)
