"""What directories are like now: where they are, whether one may write there, how much is free.

Another process looks at them (:mod:`ses.elsewhere`).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from ses_client.devices import device_of, file_system_of
from ses_client.messages.message import Message
from ses_client.mounts import MOUNTINFO, Mount, mount_of, parse_mounts

from ses.elsewhere import PATIENCE, ask_elsewhere
from ses.place.quotas import quota_left

_LEFT_OUT = 30.0  # seconds until one that hangs is looked at again
_MAX_ENTRIES = 1000  # of a claimed directory; one with more is not added up


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

    def begin() -> Callable[[str], dict[str, Any]]:
        mounts = {mount.number: mount for mount in parse_mounts(MOUNTINFO.read_bytes())}
        return lambda name: _seen(name, claimed, mounts)

    answers = ask_elsewhere(given, begin, meanwhile, patience)
    late = {"reason": f"it did not answer within {patience:g} s"}
    return [Directory(given=entry, **answers.get(entry, late)) for entry in given]


def _seen(given: str, claimed: Sequence[str], mounts: Mapping[str, Mount]) -> dict[str, Any]:
    try:
        here = os.open(given, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        status, space = os.fstat(here), os.fstatvfs(here)
    except OSError as error:
        return {"reason": f"it cannot be looked at: {error.strerror}"}
    entry = f"/proc/self/fd/{here}"
    path = os.readlink(entry)  # noqa: PTH115  # what pathlib loads at first takes longer than all of this
    below = [item for item in claimed if item.startswith(f"{path.rstrip('/')}/")]
    number = mount_of(here)
    mount = mounts.get(number)
    file_system = file_system_of(mount, status.st_dev)
    free, left = space.f_bavail * space.f_frsize, quota_left(here, status)
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
        "held": {item: held for item in below if (held := _held(item, status.st_dev)) is not None},
    }


def identity_of(status: os.stat_result) -> str:
    """Return what distinguishes a directory from others."""
    return f"{status.st_dev}:{status.st_ino}"


def held_in(directory: str) -> int | None:
    """Return the bytes below a directory, as far as they are few files."""
    with suppress(OSError):
        return _held(directory, os.lstat(directory).st_dev)
    return None


def _held(directory: str, device: int) -> int | None:
    """Return the bytes below a directory; ``None`` where they are many files, or one may not look."""
    left, total, waiting = _MAX_ENTRIES, 0, [directory]
    try:
        top = os.lstat(directory)
        if not stat.S_ISDIR(top.st_mode) or top.st_dev != device:
            return None
        while waiting:
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
