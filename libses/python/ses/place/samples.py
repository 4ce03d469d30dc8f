"""How busy devices and NFS servers are, from two looks at counters: the first may be an earlier choice's.

What a device moved while it was in use under claims is kept: it says what the device gives at best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ses_client.devices import MOUNTSTATS, NFS, SYS, parse_mountstats, stat_of
from ses_client.messages.message import Message
from ses_client.mounts import parse_mounts

from ses.place.claims import clock

SHORTEST, LONGEST = 0.1, 5.0  # seconds between two looks: less is chance, more is of another time
_PAUSE = 0.12
_ENOUGH, _MOST = 1.0, 30.0  # seconds in use from which on a rate is known, and that count at most
_SECTOR = 512  # bytes, whatever the device says
_OWN = 0.5  # own streams from which on a window says what they get


class Counters(NamedTuple):
    """What has passed since a moment that nobody needs to know: the difference of two is what counts.

    ``busy_ms`` in use, ``queue_ms`` summed over all requests that waited or were served, ``moved`` bytes.
    """

    busy_ms: int
    queue_ms: int
    moved: int


class Sample(Message):
    """The counters of a device at a time since the machine started, and its load up to then.

    Over a window: the part of it in ``use``, the mean number of requests (``queue``), ``rate`` (bytes moved
    in a second) and the mean number of streams of claims, those that ended in it among them (``own``).  No
    load is known where ``use`` is ``None``.  The device moved ``learned`` bytes in ``seconds`` in which it
    was in use under claims; the last ones count most.
    """

    at: float
    busy_ms: int
    queue_ms: int
    moved: int
    use: float | None = None
    queue: float = 0.0
    rate: float = 0.0
    own: float = 0.0
    learned: float = 0.0
    seconds: float = 0.0

    @property
    def gives(self) -> float | None:
        """What the device gives, in bytes per second; ``None`` where claims hardly used it."""
        return self.learned / self.seconds if self.seconds >= _ENOUGH and self.learned > 0 else None


def counters_of(
    devices: Iterable[str], sys: Path = SYS, mountstats: Path = MOUNTSTATS
) -> dict[str, Counters]:
    """Return the counters of each device that has some; tmpfs and overlays have none."""
    asked = set(devices)
    counters = {}
    for name in asked:
        with suppress(ValueError, IndexError):
            numbers = [int(word) for word in stat_of(sys, name)["stat"].split()]
            counted = Counters(numbers[9], numbers[10], (numbers[2] + numbers[6]) * _SECTOR)
            if counted.busy_ms or counted.moved:  # one that never counted is in use all the same
                counters[name] = counted
    if any(name.startswith(NFS) for name in asked):
        with suppress(OSError):
            mounts = parse_mounts(mountstats.with_name("mountinfo").read_bytes())
            servers = parse_mountstats(mountstats.read_text("utf-8", "surrogateescape"), mounts)
            for name in asked & {NFS + name for name in servers}:  # busy while requests are under way
                of = servers[name.removeprefix(NFS)]
                counters[name] = Counters(of.round_trip_ms, of.whole_ms, of.read + of.written)
    return counters


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
    samples: dict[str, Sample] = {}
    for before in (kept, samples):
        if before is samples:
            time.sleep(_PAUSE)
        at = clock()
        for name, counters in look(asked).items():
            if name not in samples or samples[name].use is None:
                now = Sample(at=at, **counters._asdict())
                samples[name] = _after(before.get(name), now, claims.get(name, ()))
        if all(entry.use is not None for entry in samples.values()):
            break
    return samples


def _after(before: Sample | None, now: Sample, began: Sequence[float]) -> Sample:
    """Return the later sample with the load since the earlier one, or the earlier one if it is of now."""
    if before is None:
        return now
    seconds, learned, in_use = now.at - before.at, before.learned, before.seconds
    if 0 <= seconds < SHORTEST and before.use is not None:
        return before
    busy_ms, queue_ms, moved = (now[name] - before[name] for name in Counters._fields)
    if min(busy_ms, queue_ms, moved) < 0:  # the device is another one by now
        return now
    if seconds < SHORTEST:
        return now.but(learned=learned, seconds=in_use)
    own = sum(max(0.0, now.at - max(before.at, entry)) for entry in began) / seconds
    use = min(1.0, busy_ms / 1e3 / seconds)
    if own >= _OWN and use:
        left = min(1.0, max(0.0, _MOST - use * seconds) / in_use) if in_use else 0.0
        learned, in_use = left * learned + moved, left * in_use + use * seconds
    load = {"use": use, "queue": queue_ms / 1e3 / seconds, "rate": moved / seconds, "own": own}
    return now.but(learned=learned, seconds=in_use, **(load if seconds <= LONGEST else {}))
