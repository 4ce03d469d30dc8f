"""A union on which O_DIRECT works: throttled branches of btrfs.

mergerfs 2.33.5 hands writes on in memory that is not aligned.  ext4 and xfs refuse those with O_DIRECT;
btrfs writes them through the page cache and returns when the device has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ses.demo.branches import MEGABYTE, Branch, BranchPlan, slow_down
from ses.demo.mounts import unmount
from ses.demo.storage import Storage, mount_union
from ses.demo.throttle import find_throttle
from ses.demo.tools import tool


def direct_union(work: Path, undo: ExitStack, plans: Sequence[BranchPlan]) -> Storage:
    """Build it under ``work`` with its images in memory; raises DemoError."""
    throttle = find_throttle(work.name)
    undo.callback(throttle.close)
    branches = []
    for plan in plans:
        image = Path("/dev/shm") / f"{work.name}-{plan.name}.img"
        undo.callback(image.unlink, missing_ok=True)
        with image.open("xb") as file:
            file.truncate(plan.capacity * MEGABYTE)
        device = Path(tool("losetup", "--find", "--show", str(image)))
        undo.callback(tool, "losetup", "--detach", str(device))
        tool("mkfs.btrfs", "--quiet", "--metadata", "single", str(device))
        branch = Branch(plan, work / plan.name, device)
        branch.directory.mkdir()
        tool("mount", "-o", "noatime", str(device), str(branch.directory))
        undo.callback(unmount, branch.directory)
        slow_down(branch, throttle, undo)
        branches.append(branch)
    mount_union(work / "union", [one.directory for one in branches], undo)
    return Storage(work / "union", tuple(branches), True, ())
