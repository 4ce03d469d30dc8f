"""What is mounted where, and unmounting for certain."""

from __future__ import annotations

import time
from pathlib import Path

from ses_client.mounts import MOUNTINFO, parse_mounts

from ses.demo.faults import DemoError
from ses.demo.tools import tool

_PATIENCE_SECONDS = 5.0


def mount_type(directory: Path) -> str | None:
    """Return the file system type mounted on a directory (the topmost one), ``None`` if none is."""
    types = [mount.type for mount in parse_mounts(MOUNTINFO.read_bytes()) if mount.point == str(directory)]
    return types[-1] if types else None


def unmount(directory: Path) -> None:
    """Unmount a directory if something is mounted there.

    A busy mount is tried for some seconds, then detached lazily: the kernel frees it when the last
    user goes.  Raises DemoError only when even that fails.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while mount_type(directory) is not None:
        try:
            tool("umount", str(directory))
        except DemoError:
            if time.monotonic() >= deadline:
                tool("umount", "--lazy", str(directory))
                return
            time.sleep(0.1)
