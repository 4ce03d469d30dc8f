"""What is mounted on this node, and on which file system a directory is.

The one place in Python that reads it; ``libses/agent/systems/file_system.h`` is the same for the agent.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from typing import NamedTuple

MOUNTINFO = Path("/proc/self/mountinfo")
_WITH_FSID = frozenset({"btrfs", "ext2", "ext3", "ext4", "zfs"})  # theirs is made of their UUID
_XFS_GEOMETRY = 0x80705864  # XFS_IOC_FSGEOMETRY_V1 of xfs_fs.h: 112 bytes, the UUID at 64


class Mount(NamedTuple):
    """A line of ``/proc/self/mountinfo``, escapes undone."""

    number: str
    device: str  # "major:minor"
    within: str  # what of the file system is mounted
    point: str
    type: str
    source: str
    options: str = ""  # of the file system


def parse_mounts(text: bytes) -> list[Mount]:
    """Return the mounts in the text of ``/proc/self/mountinfo``, in its order."""
    mounts = []
    for line in text.split(b"\n"):
        before, dash, after = line.partition(b" - ")
        head, tail = before.split(b" "), after.split(b" ")
        if dash and len(head) > 4 and len(tail) > 1:
            words = (head[0], *head[2:5], *tail[:3])
            mounts.append(Mount(*(os.fsdecode(unescaped(word)) for word in words)))
    return mounts


def mount_with(number: str, text: bytes) -> Mount | None:
    """Return the mount of a number in the text of ``/proc/self/mountinfo``."""
    lines = (line for line in text.split(b"\n") if line.startswith(number.encode() + b" "))
    return next((mount for line in lines for mount in parse_mounts(line)), None)


def file_system_at(path: Path | str) -> str:
    """Return which file system a directory is on, as ``qsm:fileSystem`` has it.  Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fsid = os.fstatvfs(directory).f_fsid
        try:
            uuid = fcntl.ioctl(directory, _XFS_GEOMETRY, bytes(112))[64:80].hex()
        except OSError:
            uuid = ""
        number = mount_of(directory)
    finally:
        os.close(directory)
    return name_file_system(number, fsid, uuid, MOUNTINFO.read_bytes())


def mount_of(descriptor: int) -> str:
    """Return the number of the mount on which something open is."""
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as read:  # noqa: PTH123  # pathlib would take longer
        words = read.read().decode("ascii").split()
    return words[words.index("mnt_id:") + 1]


def name_file_system(mount: str, fsid: int, uuid: str, mountinfo: bytes) -> str:
    """Return its type, and what stays when it is mounted again, or where it is mounted; empty: not known."""
    here = mount_with(mount, mountinfo)
    if here is None:
        return ""
    detail = here.source if _is_remote(f" {here.source}") and here.point != "/" else here.point
    if here.type in _WITH_FSID and fsid:
        detail = f"{fsid:016x}"
    elif here.type == "xfs" and uuid:
        detail = uuid
    return f"{here.type} {detail}"


def is_another(described: str, seen: str) -> bool:
    """Return whether it is not the file system that was described.

    Not where that is uncertain: one is not known, or a node mounts over the network a disk of another.
    """
    return bool(described and seen and described != seen and _is_remote(described) == _is_remote(seen))


def is_another_kind(described: str, type_: str, source: str) -> bool:
    """As is_another, where no more is known of what is mounted than its type, and what it is mounted from."""
    seen = f"{type_} {source}"
    if _is_remote(seen):
        return is_another(described, seen)
    return bool(described and type_) and not _is_remote(described) and described.split(" ")[0] != type_


def _is_remote(name: str) -> bool:
    return ":/" in name or " //" in name


def unescaped(word: bytes) -> bytes:
    """Return a word as it is: the kernel, and who writes fstab, have a space there as an octal number."""
    if b"\\" not in word:
        return word
    return re.sub(rb"\\([0-3][0-7]{2})", lambda match: bytes([int(match[1], 8)]), word)
