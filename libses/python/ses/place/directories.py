"""What directories are like now: where they are, whether one may write there, how much is free.

Another process looks at those that may hang (:mod:`ses.elsewhere`).
"""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from ses_client.devices import device_of, file_system_of
from ses_client.errors import SesError
from ses_client.messages.message import Message
from ses_client.mounts import MOUNTINFO, mount_of, mount_with, unescaped

from ses.elsewhere import PATIENCE, ask_elsewhere, ask_here
from ses.place.quotas import are_counted, quota_left

_LEFT_OUT = 30.0  # seconds until one that hangs is looked at again
_MAX_ENTRIES = 1000  # of a claimed directory; one with more is not added up
# File systems that hang only where a disk does.
_OF_MACHINE = (b"btrfs", b"ext2", b"ext3", b"ext4", b"tmpfs", b"xfs")
# Seconds for the claimed directories in one: of many, those that are left are not added up.
_ADDED_WITHIN = PATIENCE / 4


class Directory(Message):
    """A directory as it was given, and what was seen.  ``reason`` says why it is left out, if it is.

    ``path`` has no links in it, ``identity`` distinguishes the directory, and ``mount`` is the number of
    its mount.  ``file_system`` names what has the free space and ``device`` what has the load.  ``held`` are
    the bytes in claimed directories below it, where they were added up.
    """

    given: str
    reason: str = ""
    path: str = ""
    identity: str = ""
    file_system: str = ""
    device: str = ""
    size: int = 0
    free: int = 0
    held: Mapping[str, int] = MappingProxyType({})
    mount: str = ""
    read_only: bool = False


class Looks:
    """Looks at directories, again and again: seldom at one that hangs, else after ``fresh`` seconds."""

    def __init__(self, given: Sequence[str], fresh: float = 0.0) -> None:
        self._fresh = fresh
        self._due = dict.fromkeys(given, 0.0)
        self._seen: dict[str, Directory] = {}

    def now(
        self, claimed: Sequence[str] = (), meanwhile: Callable[[], object] = lambda: None
    ) -> list[Directory]:
        """Return what each directory is like, as :func:`look_at` does, or what it was like."""
        began = time.monotonic()
        due = [entry for entry, at in self._due.items() if at <= began]
        for seen in look_at(due, claimed, meanwhile) if due else ():
            hangs = not seen.path and time.monotonic() - began >= PATIENCE
            self._due[seen.given] = time.monotonic() + (_LEFT_OUT if hangs else self._fresh)
            self._seen[seen.given] = seen
        return [self._seen[entry] for entry in self._due]


def look_at(
    given: Sequence[str],
    claimed: Sequence[str] = (),
    meanwhile: Callable[[], object] = lambda: None,
    patience: float = PATIENCE,
) -> list[Directory]:
    """Return what each directory is like; one that does not answer in time is left out with its reason.

    Calls ``meanwhile``.
    """
    mounts = MOUNTINFO.read_bytes()  # here: a process that was forked copies what it writes to
    answers = ask_about(given, lambda name: _seen(name, claimed, mounts), meanwhile, patience)
    late = {"reason": f"it did not answer within {patience:g} s"}
    return [Directory(given=entry, **answers.get(entry, late)) for entry in given]


def ask_about(
    names: Sequence[str],
    asked: Callable[[str], Any],
    meanwhile: Callable[[], object] = lambda: None,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    """Return what is said of each directory, as JSON has it; those without an answer in time are left out.

    Calls ``meanwhile``.
    """
    hanging = _may_hang(MOUNTINFO.read_bytes())
    here = [name for name in names if _is_here(name, hanging)]
    there = [name for name in names if name not in here]
    answers = ask_elsewhere(there, asked, meanwhile, patience) if there else {}
    if not there:
        meanwhile()
    return answers | ask_here(here, asked, patience)


def _may_hang(mountinfo: bytes) -> set[str]:
    """Return where file systems are mounted that hang by more than a disk of the machine."""
    points = set()
    for line in mountinfo.split(b"\n"):  # thousands, where containers run: so no more is read of each
        before, _, after = line.partition(b" - ")
        if after and (kind := after.split(b" ", 1)[0]) not in _OF_MACHINE:
            point = os.fsdecode(unescaped(before.split(b" ", 5)[4]))
            if (point, kind) != ("/", b"overlay"):  # a container's own root, where its programs lie, too
                points.add(point)
    return points


def _is_here(name: str, hanging: Collection[str]) -> bool:
    """Return whether a way leads over file systems that hang seldom, and over no links."""
    if "/" in hanging or ".." in name.split("/"):  # what is above a link's target is elsewhere, too
        return False
    way = ""
    for part in os.path.abspath(name).split("/")[1:]:  # noqa: PTH100  # pathlib would take longer
        way += f"/{part}"
        if way in hanging or os.path.islink(way):  # noqa: PTH114
            return False
    return True


def _seen(given: str, claimed: Sequence[str], mounts: bytes) -> dict[str, Any]:
    here = -1
    try:
        here = os.open(given, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return _seen_of(here, claimed, mounts)
    except OSError as error:
        return {"reason": f"it cannot be looked at: {error.strerror}"}
    finally:
        if here >= 0:
            os.close(here)


def _seen_of(here: int, claimed: Sequence[str], mounts: bytes) -> dict[str, Any]:
    status, space = os.fstat(here), os.fstatvfs(here)
    entry = f"/proc/self/fd/{here}"
    path = os.readlink(entry)  # noqa: PTH115  # what pathlib loads at first takes longer than all of this
    below = [item for item in claimed if item.startswith(f"{path.rstrip('/')}/")]
    number = mount_of(here)
    mount = mount_with(number, mounts)
    file_system, until = file_system_of(mount, status.st_dev), time.monotonic() + _ADDED_WITHIN
    free = space.f_bavail * space.f_frsize
    left = quota_left(here, status) if mount is None or are_counted(mount.options) else None
    reason = ""
    if space.f_flag & os.ST_RDONLY:
        reason = "it is mounted read-only"
    elif not os.access(entry, os.W_OK | os.X_OK, effective_ids=True):
        reason = "you may not write there"
    elif space.f_files and not space.f_favail:
        reason = "it has no inodes left"
    elif left == 0:
        reason = "your quota there is used up, or your group's"
    return {
        "reason": reason,
        "path": path,
        "read_only": bool(space.f_flag & os.ST_RDONLY),
        "mount": number,
        "identity": identity_of(status),
        "file_system": file_system,
        "device": device_of(mount, file_system),
        "size": space.f_blocks * space.f_frsize,
        "free": free if left is None else min(free, left),
        "held": {item: held for item in below if (held := _held(item, status.st_dev, until)) is not None},
    }


def identity_of(status: os.stat_result) -> str:
    """Return what distinguishes a directory from others."""
    return f"{status.st_dev}:{status.st_ino}"


def held_in(directory: str) -> int | None:
    """Return the bytes below a directory, as far as they are few files and it answers."""

    def add(name: str) -> int | None:
        with suppress(OSError):
            return _held(name, os.lstat(name).st_dev)
        return None

    held: int | None = None
    with suppress(SesError):  # no process may begin
        held = ask_about([directory], add).get(directory)
    return held


def _held(directory: str, device: int, until: float = math.inf) -> int | None:
    """Return the bytes below a directory; ``None``: they are many files, one may not look, or it is late."""
    left, total, waiting = _MAX_ENTRIES, 0, [directory]
    try:
        top = os.lstat(directory)
        if not stat.S_ISDIR(top.st_mode) or top.st_dev != device:
            return None
        while waiting:
            if time.monotonic() > until:
                return None
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return None
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode) and status.st_dev == device:
                        waiting.append(entry.path)
    except OSError:
        return None
    return total
