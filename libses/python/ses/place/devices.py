"""Which device or server a directory lies on, and the counters that say how busy that is.

Directories of one device share its load, as mounts of one NFS server do.  A partition is a part of its disk,
and a mapped device with one device below it is that one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ses_client.unions import Mount

_SYS = Path("/sys")
_MOUNTSTATS = Path("/proc/self/mountstats")
_NFS = "nfs "
_DEEPEST = 8  # devices on devices
_MOVES_DATA = ("READ:", "WRITE:", "COMMIT:")
_SECTOR = 512  # bytes, whatever the device says


@dataclass(frozen=True, slots=True)
class Counters:
    """What has passed since a moment that nobody needs to know: the difference of two is what counts.

    ``busy_ms`` in use, ``queue_ms`` summed over all requests that waited or were served, ``moved`` bytes.
    """

    busy_ms: int
    queue_ms: int
    moved: int


def file_system_of(mount: Mount | None, device: int) -> str:
    """Return what has the free space of a directory with this ``st_dev``: one name for all on it."""
    own = _numbers(device)
    if mount is None or mount.type.startswith("nfs"):
        return own
    if mount.device.startswith("0:") and mount.source.startswith("/dev/"):  # btrfs numbers its subvolumes
        with suppress(OSError):
            return _numbers(Path(mount.source).stat().st_rdev)
    return mount.device


def device_of(mount: Mount | None, file_system: str, sys: Path = _SYS) -> str:
    """Return what has the load: ``nfs SERVER``, or the numbers of a disk."""
    if mount is not None and mount.type in ("nfs", "nfs4"):
        return _NFS + _server(mount.source)
    number = file_system
    for _ in range(_DEEPEST):
        above = _below(sys, number)
        if above is None:
            break
        number = above
    return number


def counters_of(
    devices: Iterable[str], sys: Path = _SYS, mountstats: Path = _MOUNTSTATS
) -> dict[str, Counters]:
    """Return the counters of each device that has some; tmpfs and overlays have none."""
    asked = set(devices)
    found = {}
    for name in asked:
        with suppress(OSError, ValueError, IndexError):
            counted = parse_block((sys / "dev/block" / name / "stat").read_text("ascii"))
            if counted.busy_ms or counted.moved:  # one that never counted is in use all the same
                found[name] = counted
    if any(name.startswith(_NFS) for name in asked):
        with suppress(OSError):
            servers = parse_mountstats(mountstats.read_text("utf-8", "surrogateescape"))
            found |= {_NFS + name: counted for name, counted in servers.items() if _NFS + name in asked}
    return found


def parse_block(text: str) -> Counters:
    """Return the counters in ``/sys/block/DEVICE/stat``.  Raises ValueError or IndexError."""
    numbers = [int(word) for word in text.split()]
    return Counters(numbers[9], numbers[10], (numbers[2] + numbers[6]) * _SECTOR)


def parse_mountstats(text: str) -> dict[str, Counters]:
    """Return the sums for each NFS server in ``/proc/self/mountstats``; what is mounted twice counts once.

    A server is busy while requests are under way to it (round trips), and its queue holds them from the
    moment that a program waits.  Both are sums over requests: milliseconds in a second divided by 1000 are
    the mean number of them.
    """
    exports: dict[str, list[int]] = {}
    sums: list[int] | None = None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["device"]:
            sums = None
            if " with fstype nfs" in line:
                sums = exports[words[1]] = [0, 0, 0]
        elif sums is not None:
            with suppress(ValueError, IndexError):
                if words[:1] == ["bytes:"]:
                    sums[2] += int(words[5]) + int(words[6])
                elif words and words[0] in _MOVES_DATA:
                    round_trips, whole = int(words[7]), int(words[8])
                    sums[0] += round_trips
                    sums[1] += whole
    servers: dict[str, list[int]] = {}
    for export, counted in exports.items():
        of_server = servers.setdefault(_server(export), [0, 0, 0])
        of_server[:] = map(sum, zip(of_server, counted, strict=True))
    return {name: Counters(*counted) for name, counted in servers.items()}


def _server(export: str) -> str:
    return export.partition(":/")[0]


def _numbers(device: int) -> str:
    return f"{os.major(device)}:{os.minor(device)}"


def _below(sys: Path, number: str) -> str | None:
    """Return the one device that another is a part of, or lies on."""
    try:
        here = Path(os.path.realpath(sys / "dev/block" / number))
        if (here / "partition").exists():
            return (here.parent / "dev").read_text("ascii").strip()
        (only,) = (here / "slaves").iterdir()
        return (only / "dev").read_text("ascii").strip()
    except (OSError, ValueError):
        return None
