"""What quotas leave to who asks, where a directory is."""

from __future__ import annotations

import os
import stat
import struct

_QUOTACTL_FD, _GET = 443, 0x800007  # Linux 5.14; Q_GETQUOTA
_USER, _GROUP = 0, 1
_LIMITS = struct.Struct("8Q2I")  # struct if_dqblk, limits in KiB


def are_counted(options: str) -> bool:
    """Return whether a file system that is mounted with these options has quotas, as ext4 and XFS say it."""
    return any("quota" in option and option != "noquota" for option in options.split(","))


def quota_left(directory: int, status: os.stat_result) -> int | None:
    """Return the bytes that files of this process may still take there; ``None`` where no quota says.

    Above a soft limit nothing is left.  Root is held to none.
    """
    if os.geteuid() == 0:
        return None
    group = status.st_gid if status.st_mode & stat.S_ISGID else os.getegid()
    asked = ((_USER, os.geteuid()), (_GROUP, group))
    return min(
        (left for kind, id_ in asked if (left := _left(directory, kind, id_)) is not None), default=None
    )


def _left(directory: int, kind: int, id_: int) -> int | None:
    try:
        import ctypes  # which takes a third of a choice: not where no quotas are counted
    except (ImportError, OSError):  # the folder of modules is another user's by now
        return None
    read = ctypes.create_string_buffer(_LIMITS.size)
    if ctypes.CDLL(None).syscall(_QUOTACTL_FD, directory, ctypes.c_uint(_GET << 8 | kind), id_, read) != 0:
        return None
    hard, soft, used, *_ = _LIMITS.unpack(read)
    limit = 1024 * (soft if soft and (not hard or used > 1024 * soft) else hard)
    return max(0, limit - used) if limit else None
