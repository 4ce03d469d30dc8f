"""How busy devices and NFS servers are, from two looks at counters: the first may be an earlier choice's.

What a device moved while it was in use under claims is kept: it says what the device gives at best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ses_client.devices import MOUNTSTATS, NFS, SYS, parse_mountstats
from ses_client.messages.message import Message
from ses_client.unions import parse_mounts

SHORTEST, LONGEST = 0.1, 5.0  # seconds between two looks: less is chance, more is of another time
_PAUSE = 0.12
_ENOUGH, _MOST = 1.0, 30.0  # seconds in use from which on a rate is known, and that count at most
_SECTOR = 512  # bytes, whatever the device says
_OWN = 0.5  # own streams from which on a window says what they get


class Counters(Message):
    """What has passed since a moment that nobody needs to know: the difference of two is what counts.

    ``busy_ms`` in use, ``queue_ms`` summed over all requests that waited or were served, ``moved`` bytes.
    """

    busy_ms: int
    queue_ms: int
    moved: int


class Load(Message):
    """Over a window: the part of it in use, the mean number of requests, and bytes moved in a second.

    ``own`` is the mean number of streams of claims, those that ended in it among them.
    """

    busy: float
    queue: float
    moved: float
    own: float


class Sample(Message):
    """The counters of a device at a time since the machine started, and the load up to it, if it is known.

    It moved ``learned`` bytes in ``seconds`` in which it was in use under claims; the last ones count most.
    """

    at: float
    counters: Counters
    load: Load | None = None
    learned: float = 0.0
    seconds: float = 0.0

    @property
    def rate(self) -> float | None:
        """What the device gives, in bytes per second; ``None`` where claims hardly used it."""
        return self.learned / self.seconds if self.seconds >= _ENOUGH and self.learned > 0 else None


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
            for name in asked & {NFS + name for name in servers}:  # busy while requests are under way
                of = servers[name.removeprefix(NFS)]
                moved = of.read + of.written
                found[name] = Counters(busy_ms=of.round_trip_ms, queue_ms=of.whole_ms, moved=moved)
    return found


def parse_block(text: str) -> Counters:
    """Return the counters in ``/sys/block/DEVICE/stat``.  Raises ValueError or IndexError."""
    numbers = [int(word) for word in text.split()]
    moved = (numbers[2] + numbers[6]) * _SECTOR
    return Counters(busy_ms=numbers[9], queue_ms=numbers[10], moved=moved)


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
    found: dict[str, Sample] = {}
    for before in (kept, found):
        if before is found:
            time.sleep(_PAUSE)
        at = clock()
        for name, counters in look(asked).items():
            if name not in found or found[name].load is None:
                found[name] = _after(before.get(name), at, counters, claims.get(name, ()))
        if all(entry.load for entry in found.values()):
            break
    return found


def _after(before: Sample | None, at: float, counters: Counters, began: Sequence[float]) -> Sample:
    """Return the later sample with the load since the earlier one, or the earlier one if it is of now."""
    now = Sample(at=at, counters=counters)
    if before is None:
        return now
    seconds, learned, in_use = at - before.at, before.learned, before.seconds
    if seconds < SHORTEST:
        return before if before.load and seconds >= 0 else now.but(learned=learned, seconds=in_use)
    busy, queue, moved = (counters[name] - before.counters[name] for name in ("busy_ms", "queue_ms", "moved"))
    if min(busy, queue, moved) < 0:  # the device is another one by now
        return now
    own = sum(max(0.0, at - max(before.at, entry)) for entry in began) / seconds
    busy = min(1.0, busy / 1e3 / seconds)
    if own >= _OWN and busy:
        left = min(1.0, max(0.0, _MOST - busy * seconds) / in_use) if in_use else 0.0
        learned, in_use = left * learned + moved, left * in_use + busy * seconds
    load = Load(busy=busy, queue=queue / 1e3 / seconds, moved=moved / seconds, own=own)
    return now.but(load=load if seconds <= LONGEST else None, learned=learned, seconds=in_use)
