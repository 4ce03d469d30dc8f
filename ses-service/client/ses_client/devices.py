"""Which device or NFS server a directory lies on, and what the kernel counts of it.

Directories of one device share its load, as mounts of one NFS server do.  A partition is a part of its disk,
and a mapped device with one device below it is that one.  An NVMe namespace with several paths may leave the
counting to these, which are devices of their own: they are added up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ses_client.mounts import Mount

SYS, MOUNTSTATS = Path("/sys"), Path("/proc/self/mountstats")
NFS = "nfs "
MOVES_DATA = frozenset({"READ", "WRITE", "COMMIT"})
"""The operations of NFS that do."""

_DEEPEST = 8  # devices on devices


class Served(NamedTuple):
    """What an NFS server did for this machine: bytes, and its operations that move data.

    Milliseconds are sums over these: under way to the server and back, and from the moment that a program
    waits.  In a second, divided by 1000, they are the mean number of requests.
    """

    read: int = 0
    written: int = 0
    operations: int = 0
    round_trip_ms: int = 0
    whole_ms: int = 0


def is_nfs(type_: str) -> bool:
    """Return whether a file system of this type is mounted from an NFS server."""
    return type_ in ("nfs", "nfs4")


def server_of(source: str) -> str:
    """Return the server that something is mounted from; empty: none is named."""
    if source.startswith("//"):
        return source[2:].partition("/")[0]
    host, colon, _ = source.partition(":/")
    return host if colon else ""


def file_system_of(mount: Mount | None, device: int) -> str:
    """Return what has the free space of a directory with this ``st_dev``: one name for all on it."""
    own = _numbers(device)
    if mount is None or is_nfs(mount.type):
        return own
    if mount.device.startswith("0:") and mount.source.startswith("/dev/"):  # btrfs numbers its subvolumes
        with suppress(OSError):
            return _numbers(Path(mount.source).stat().st_rdev)
    return mount.device


def device_of(mount: Mount | None, file_system: str, sys: Path = SYS) -> str:
    """Return what has the load: ``nfs SERVER``, or the numbers of a disk."""
    if mount is not None and is_nfs(mount.type):
        return NFS + server_of(mount.source)
    number = file_system
    for _ in range(_DEEPEST):
        above = _below(sys, number)
        if above is None:
            break
        number = above
    return number


def name_of(device: str, sys: Path = SYS) -> str:
    """Return what the kernel calls a device of ``device_of``; empty: it is none that counts."""
    if device.startswith(NFS):
        return NFS.strip()
    entry = sys / "dev/block" / device
    return entry.resolve().name if entry.exists() else ""


def paths_of(device: str, devices: Iterable[str]) -> list[str]:
    """Those of ``devices`` that are a path (``nvme0c1n1``) to the NVMe namespace ``device`` is or lies on."""
    matched = re.fullmatch(r"nvme(\d+)n(\d+)(?:p\d+)?", device)
    if matched is None:
        return []
    path = re.compile(rf"nvme{matched[1]}c\d+n{matched[2]}")
    return sorted(filter(path.fullmatch, devices))


def counted_by(device: str, parts: Iterable[str]) -> str:
    """Return whose counters those of a device are: where several are added up, which.

    When one comes or goes, the sum moves by all that it ever counted.
    """
    names = sorted(parts)
    return f"{device} ({', '.join(names)})" if len(names) > 1 else device


def stat_of(sys: Path, device: str) -> dict[str, str]:
    """Return the ``stat`` of a block device (major:minor) and its ``name``; empty where there is none.

    Where several devices are added up, its ``device`` names them.
    """
    node = os.path.realpath(f"{sys}/dev/block/{device}")
    name = os.path.basename(node)  # noqa: PTH119  # as strings: each choice of a place waits for it
    try:
        with open(f"{node}/stat", "rb") as stat:  # noqa: PTH123
            text = stat.read().decode("ascii")
    except (OSError, ValueError):
        return {"name": "", "stat": ""}
    with suppress(OSError, ValueError):
        if name.startswith("nvme") and (
            paths := paths_of(name, (path.name for path in (sys / "block").glob("nvme*c*n*")))
        ):
            each = [(sys / "block" / path / "stat").read_text("ascii").split() for path in paths]
            if not any(map(int, text.split()[:7])):
                text = " ".join(str(sum(map(int, column))) for column in zip(*each, strict=False))
                return {"name": name, "stat": text, "device": counted_by(device, paths)}
    return {"name": name, "stat": text}


def parse_mountstats(text: str, mounts: Iterable[Mount] = ()) -> dict[str, Served]:
    """Return what each server did for all its exports together (``/proc/self/mountstats``).

    ``mounts`` say which of them are one file system of the server: the kernel counts these as one, and shows
    that at each.
    """
    device = {mount.point: mount.device for mount in mounts}
    counted: dict[tuple[str, str], Served] = {}
    key = None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["device"]:
            key = None
            if " with fstype nfs" in line and len(words) > 4:
                key = server_of(words[1]), device.get(words[4], words[1])
                counted[key] = Served()
        elif key is not None:
            with suppress(ValueError, IndexError):
                if words[:1] == ["bytes:"]:
                    counted[key] = _sum(counted[key], Served(int(words[5]), int(words[6])))
                elif words and words[0].rstrip(":") in MOVES_DATA:
                    operations, round_trips, whole = int(words[1]), int(words[7]), int(words[8])
                    counted[key] = _sum(counted[key], Served(0, 0, operations, round_trips, whole))
    servers: dict[str, Served] = {}
    for (server, _), served in counted.items():
        servers[server] = _sum(servers.get(server, Served()), served)
    return servers


def _sum(first: Served, second: Served) -> Served:
    return Served(*map(sum, zip(first, second, strict=True)))


def _numbers(device: int) -> str:
    return f"{os.major(device)}:{os.minor(device)}"


def _below(sys: Path, number: str) -> str | None:
    """Return the one device that another is a part of, or lies on."""
    try:
        here = os.path.realpath(f"{sys}/dev/block/{number}")
        if os.access(f"{here}/partition", os.F_OK):
            whole = os.path.dirname(here)  # noqa: PTH120  # as strings: each choice of a place waits for it
        else:
            (only,) = os.listdir(f"{here}/slaves")  # noqa: PTH208
            whole = f"{here}/slaves/{only}"
        with open(f"{whole}/dev", "rb") as device:  # noqa: PTH123
            return device.read().decode("ascii").strip()
    except (OSError, ValueError):
        return None
