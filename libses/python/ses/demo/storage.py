"""The storage of the demonstration: eight branches of different speeds under one mergerfs union.

Where loop devices or limits are not permitted there are plain directories, or no limits, and
``Storage.notes`` says so.  Without FUSE there is no union and so no demonstration: DemoError.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses.demo.branches import MEGABYTE, PLANS, Branch, BranchPlan, fill, loop_branch, slow_down
from ses.demo.faults import DemoError
from ses.demo.mounts import mount_type, unmount
from ses.demo.throttle import find_throttle
from ses.demo.tools import tool
from ses.demo.work import SHARED_MEMORY, need_room

CREATE_POLICY = "pfrd"  # mergerfs's present default: a random branch, weighted by free space
_ROOM_MB = 1500  # for the images; they are sparse

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Storage:
    """The union and its branches.  ``throttled``: branches have the speeds the site describes."""

    union: Path
    branches: tuple[Branch, ...]
    throttled: bool
    notes: tuple[str, ...]

    @property
    def directories(self) -> list[Path]:
        """The directories of the branches."""
        return [branch.directory for branch in self.branches]

    def branch(self, name: str) -> Branch:
        """Return the branch of a short name."""
        return next(branch for branch in self.branches if branch.name == name)

    def branch_of(self, directory: str) -> str:
        """Return the short name of the branch in a directory, or the directory itself."""
        wanted = os.path.realpath(directory)
        return next(
            (branch.name for branch in self.branches if os.path.realpath(branch.directory) == wanted),
            directory,
        )


def set_up(
    work: Path,
    undo: ExitStack,
    progress: Progress,
    plans: tuple[BranchPlan, ...] = PLANS,
    union_options: str = "",
) -> Storage:
    """Build the storage under ``work``; what it takes to undo it goes onto ``undo``.

    ``progress`` is called with each step before it is made; it may raise to stop here.  ``union_options`` are
    further options of mergerfs, separated by commas.
    """
    notes: list[str] = []
    branches = _branches(work, undo, progress, plans, notes)
    throttled = _slow_down(work, branches, undo, progress, notes)
    for branch in branches:
        if branch.device is not None:
            fill(branch)
    progress("mounting the union")
    union = work / "union"
    mount_union(union, [branch.directory for branch in branches], undo, union_options)
    return Storage(union, branches, throttled, tuple(notes))


def _branches(
    work: Path, undo: ExitStack, progress: Progress, plans: tuple[BranchPlan, ...], notes: list[str]
) -> tuple[Branch, ...]:
    images = _image_directory(work, undo, min(_ROOM_MB, sum(plan.free for plan in plans)))
    branches: list[Branch] = []
    with ExitStack() as attempt:
        for plan in plans:
            progress(f"making branch {plan.name}: loop device and ext4")
            try:
                branches.append(loop_branch(plan, work / plan.name, images / f"{plan.name}.img", attempt))
            except (DemoError, OSError) as error:
                reason = str(error).rstrip(".")
                break
        else:
            notes.append(f"branches: ext4 on loop devices, image files in {images}")
            undo.push(attempt.pop_all())
            return tuple(branches)
    notes.append(f"branches: plain directories on one device, so their speeds do not differ ({reason})")
    for plan in plans:
        (work / plan.name).mkdir(exist_ok=True)
    return tuple(Branch(plan, work / plan.name) for plan in plans)


def _image_directory(work: Path, undo: ExitStack, megabytes: int) -> Path:
    """Memory when there is room: other users of the disk then cannot disturb the speeds.

    Raises DemoError where the disk has no room either.
    """
    directory = work / "images"
    if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > megabytes * MEGABYTE:
        directory = SHARED_MEMORY / work.name
    else:
        need_room(work, megabytes)
    undo.callback(_remove_directory, directory)
    directory.mkdir(mode=0o700)
    return directory


def _slow_down(
    work: Path, branches: tuple[Branch, ...], undo: ExitStack, progress: Progress, notes: list[str]
) -> bool:
    if any(branch.device is None for branch in branches):
        return False
    progress("limiting the branches' speeds")
    with ExitStack() as attempt:
        try:
            throttle = find_throttle(work.name)
            attempt.callback(throttle.close)
            for branch in branches:
                slow_down(branch, throttle, attempt)
        except DemoError as error:
            notes.append(f"speeds: not limited, so all branches are as fast as memory ({error})")
            return False
        notes.append(f"speeds: limited by the kernel ({throttle.description})")
        undo.push(attempt.pop_all())
    return True


def mount_union(union: Path, directories: Sequence[Path], undo: ExitStack, further: str = "") -> None:
    """Mount a union of directories on ``union``, which is made if it is missing; raises DemoError."""
    if not Path("/dev/fuse").exists():
        raise DemoError(
            "There is no /dev/fuse here, so no mergerfs union can be mounted. In a container, give it "
            "that device and the right to mount (--device /dev/fuse --cap-add SYS_ADMIN)."
        )
    union.mkdir(exist_ok=True)
    undo.callback(unmount, union)
    tool(
        "mergerfs",
        "-o",
        # minfreespace: 4 GB by default, more than these branches have; ``further`` may state another
        f"allow_other,use_ino,category.create={CREATE_POLICY},minfreespace=8M,fsname=qstorman-demo"
        + (f",{further}" if further else ""),
        ":".join(str(directory) for directory in directories),
        str(union),
    )
    if mount_type(union) != "fuse.mergerfs":
        raise DemoError(f"mergerfs ended without a word, but nothing is mounted on {union}.")


def _remove_directory(directory: Path) -> None:
    if directory.exists():
        directory.rmdir()
