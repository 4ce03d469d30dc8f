"""The counters that say how busy a device or an NFS server is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ses_client.devices import MOUNTSTATS, NFS, SYS, Served, parse_mountstats
from ses_client.unions import parse_mounts

_SECTOR = 512  # bytes, whatever the device says


@dataclass(frozen=True, slots=True)
class Counters:
    """What has passed since a moment that nobody needs to know: the difference of two is what counts.

    ``busy_ms`` in use, ``queue_ms`` summed over all requests that waited or were served, ``moved`` bytes.
    """

    busy_ms: int
    queue_ms: int
    moved: int


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
