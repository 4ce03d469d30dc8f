"""One branch of the demonstration's union: a small ext4 file system on a loop device, slowed down.

The same eight as ``ontology/examples/union-site.ttl`` describes.  The ext4 has no journal, so that
bytes written are bytes counted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from ses.demo.mounts import unmount
from ses.demo.throttle import Throttle
from ses.demo.tools import tool

MEGABYTE = 1_000_000
EXT4 = ("mkfs.ext4", "-q", "-F", "-m", "0", "-N", "1024", "-O", "^has_journal",
        "-E", "lazy_itable_init=0,nodiscard")  # fmt: skip


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """What a branch is to be.  Rates MB/s, sizes MB; ``free`` is what others' files leave free."""

    name: str
    read_rate: int
    write_rate: int
    free: int
    capacity: int = 300


PLANS = (
    BranchPlan("b1", 120, 90, free=285),
    BranchPlan("b2", 120, 90, free=285),
    BranchPlan("b3", 80, 60, free=290),
    BranchPlan("b4", 80, 60, free=290),
    BranchPlan("b5", 40, 30, free=300),
    BranchPlan("b6", 40, 30, free=300),
    BranchPlan("b7", 20, 15, free=300),
    BranchPlan("b8", 20, 15, free=300),
)


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that is mounted.  ``device`` is ``/dev/loopN``, or ``None`` for a plain directory."""

    plan: BranchPlan
    directory: Path
    device: Path | None = None

    @property
    def name(self) -> str:
        """The branch's short name, like ``b3``."""
        return self.plan.name


def loop_branch(
    plan: BranchPlan, directory: Path, image: Path, undo: ExitStack, made_by: Sequence[str] = EXT4
) -> Branch:
    """Make an image file, a loop device on it, a file system on that, and mount it on ``directory``.

    Every step's undoing goes onto ``undo`` before the step.  Raises DemoError.
    """
    undo.callback(_remove, image)
    with image.open("xb") as file:
        file.truncate(plan.capacity * MEGABYTE)
    undo.callback(_detach, image)
    device = Path(tool("losetup", "--find", "--show", str(image)))
    undo.callback(unmount, directory)
    mount_new(device, directory, made_by)
    return Branch(plan, directory, device)


def mount_new(device: Path, directory: Path, made_by: Sequence[str] = EXT4) -> None:
    """Make a file system on a device, and mount it on ``directory``, which is made; raises DemoError."""
    directory.mkdir()
    tool(*made_by, str(device))
    tool("mount", "-o", "noatime", str(device), str(directory))
    with suppress(FileNotFoundError):
        (directory / "lost+found").rmdir()
    directory.chmod(0o755)


def fill(branch: Branch) -> None:
    """Let somebody else's archive take what the plan does not leave free (no byte is written)."""
    state = os.statvfs(branch.directory)
    free = state.f_bavail * state.f_frsize
    surplus = free - branch.plan.free * MEGABYTE
    if surplus > 0:
        tool("fallocate", "--length", str(surplus), str(branch.directory / "archive-of-others.bin"))


def slow_down(branch: Branch, throttle: Throttle, undo: ExitStack) -> None:
    """Limit the branch's device to the rates of its plan until undone."""
    if branch.device is None:
        return
    number = device_number(branch.device)
    undo.callback(throttle.release, number)
    throttle.limit(number, branch.plan.read_rate * MEGABYTE, branch.plan.write_rate * MEGABYTE)


def device_number(device: Path) -> str:
    """Return ``MAJOR:MINOR`` of a block device."""
    number = device.stat().st_rdev
    return f"{os.major(number)}:{os.minor(number)}"


def attached(image: Path, block_devices: Path = Path("/sys/block")) -> list[Path]:
    """Return the loop devices that stand on an image file."""
    devices = []
    for backing in block_devices.glob("loop*/loop/backing_file"):
        try:
            if backing.read_text().rstrip("\n") == str(image):
                devices.append(Path("/dev") / backing.parts[-3])
        except OSError:  # detached at this moment
            continue
    return devices


def _detach(image: Path) -> None:
    for device in attached(image):
        tool("losetup", "--detach", str(device))


def _remove(image: Path) -> None:
    image.unlink(missing_ok=True)
