"""Which Lustre a path lies on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import NotFoundError
from ses_client.mounts import MOUNTINFO, parse_mounts


@dataclass(frozen=True, slots=True)
class LustreMount:
    """One mount, of a file system or of a directory in it."""

    mount_point: str
    file_system: str


def parse_mountinfo(text: bytes) -> list[LustreMount]:
    """Return the Lustre clients in the text of /proc/self/mountinfo, in its order.

    The targets of a server, which have the same type, are left out: their source is a block device.
    """
    mounts = []
    for mount in parse_mounts(text):
        nids, colon, rest = mount.source.rpartition(":/")
        name = rest.partition("/")[0]
        if mount.type == "lustre" and colon and nids and name:
            mounts.append(LustreMount(mount.point, name))
    return mounts


def mount_of(path: Path, mountinfo: Path = MOUNTINFO) -> LustreMount:
    """Return the Lustre that holds a path; raises NotFoundError."""
    wanted = os.path.realpath(path)
    mounts = parse_mountinfo(mountinfo.read_bytes())
    over = [mount for mount in mounts if os.path.commonpath([wanted, mount.mount_point]) == mount.mount_point]
    if not over:
        known = ", ".join(mount.mount_point for mount in mounts) or "none"
        raise NotFoundError(f"{path} is not on a Lustre file system. Lustre is mounted at: {known}.")
    return max(over, key=lambda mount: len(mount.mount_point))
