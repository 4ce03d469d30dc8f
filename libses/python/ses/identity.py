"""Which file it is, whatever it is called: its numbers, and when it was born.

Numbers alone are not enough: a file system gives the inode number of a file that is gone to
another one, mergerfs without ``use_ino`` makes numbers up, and the device number of a union
changes when it is mounted again.  The birth is kept by the file system that holds the bytes, and
no program can set it.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

_HERE, _NO_FOLLOW, _WANT_BIRTH = -100, 0x100, 0x800
_RESULT_SIZE, _MASK, _BIRTH = 256, struct.Struct("=I"), struct.Struct("=qI")
_BIRTH_OFFSET = 80
_FULL_PATH = "user.mergerfs.fullpath"


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """One regular file.  Times are seconds since the epoch; ``born`` is None when it is not known.

    ``changed`` is when its inode last changed (ctime), which no program can set back.  Lustre keeps
    births in whole seconds, cut off: such a file may be born up to a second after ``born``.
    """

    device: int
    inode: int
    born: float | None
    changed: float

    @property
    def latest_birth(self) -> float | None:
        """Return the latest moment the file can have been born; None when that is not known."""
        return self.born + 1 if self.born is not None and self.born.is_integer() else self.born


def identify(path: Path) -> FileIdentity | None:
    """Return which file has this name, ``None`` when no regular file has.  Follows no symbolic link."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileIdentity(status.st_dev, status.st_ino, _born(path), status.st_ctime)


def _born(path: Path) -> float | None:
    """Return the birth of a file; mergerfs does not pass it on, so its branch is asked."""
    seconds = _birth(os.fsencode(path))
    if seconds is not None:
        return seconds
    try:
        return _birth(os.getxattr(path, _FULL_PATH, follow_symlinks=False))
    except OSError:
        return None


def _birth(path: bytes) -> float | None:
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
    result = ctypes.create_string_buffer(_RESULT_SIZE)
    if statx(_HERE, path, _NO_FOLLOW, _WANT_BIRTH, result) != 0:
        return None
    (mask,) = _MASK.unpack_from(result, 0)
    seconds, nanoseconds = _BIRTH.unpack_from(result, _BIRTH_OFFSET)
    return seconds + nanoseconds / 1e9 if mask & _WANT_BIRTH else None
