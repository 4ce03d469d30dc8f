"""Which Lustre a path lies on."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import NotFoundError

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class LustreMount:
    """One mount: its directory, the file system's name, and the part of it that is mounted."""

    mount_point: str
    file_system: str
    fileset: str  # "/" unless only a subdirectory is mounted


def parse_mountinfo(text: str) -> list[LustreMount]:
    """Return the Lustre clients in the text of /proc/self/mountinfo, in its order.

    The targets of a server, which have the same type, are left out: their source is a block device.
    """
    mounts = []
    for line in text.split("\n"):
        before, dash, after = line.partition(" - ")
        fields, ends = before.split(" "), after.split(" ")
        if not dash or len(fields) < 5 or len(ends) < 2 or ends[0] != "lustre":
            continue
        nids, colon, rest = unescaped(ends[1]).rpartition(":/")
        name, _, fileset = rest.partition("/")
        if colon and nids and name:
            mounts.append(LustreMount(unescaped(fields[4]), name, f"/{fileset}"))
    return mounts


def read_mounts(file: Path) -> str:
    """Return the text of mountinfo or mounts of /proc; a line ends with a line feed, and at nothing else."""
    return os.fsdecode(file.read_bytes())


def unescaped(text: str) -> str:
    """Return a field as it is: space, tab, line feed and backslash are written as octal numbers there."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def mount_of(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> LustreMount:
    """Return the Lustre that holds a path; raises NotFoundError."""
    wanted = os.path.realpath(path)
    mounts = parse_mountinfo(read_mounts(mountinfo))
    over = [mount for mount in mounts if os.path.commonpath([wanted, mount.mount_point]) == mount.mount_point]
    if not over:
        known = ", ".join(mount.mount_point for mount in mounts) or "none"
        raise NotFoundError(f"{path} is not on a Lustre file system. Lustre is mounted at: {known}.")
    return max(over, key=lambda mount: len(mount.mount_point))
