"""State and capacity of each OST, asked of the client itself; needs no rights.

By ``liblustreapi`` where it is installed (loaded at run time, its log turned off, every function
looked for), else by the one ioctl behind it.  Servers that do not answer are not waited for.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_LOV, _NODELAY = 2, 4
_IOC_OBD_STATFS = 0xC00866A4
_VERSION = 0x00010004
_HEAD_BYTES = 576
_STATFS = struct.Struct("=QQQQQQ40sIIQIII")
_STATFS_BYTES, _UUID_BYTES = 144, 40
_MAX_OSTS, _HOLES = 65535, 256

# Letters as in `lfs df -v`: all but "f" (flash) and "a" (aggregate) mean: do not place here.
_LETTERS = {0x1: "D", 0x2: "R", 0x4: "N", 0x20: "S", 0x40: "I", 0x100: "a", 0x200: "f"}

Ask = Callable[[int, ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]], int]


@dataclass(frozen=True, slots=True)
class TargetStatfs:
    """What the client reports of one OST.  ``answers``: False when its server did not."""

    index: int
    uuid: str
    answers: bool
    capacity_bytes: int
    available_bytes: int
    flags: str


def flags_of(state: int) -> str:
    """Return the letters for the bits of ``os_state``."""
    return "".join(letter for bit, letter in _LETTERS.items() if state & bit)


def parse_statfs(index: int, raw: bytes, uuid: bytes) -> TargetStatfs:
    """Return what one ``struct obd_statfs`` (144 bytes) and the UUID beside it hold."""
    _, blocks, _, available, *_, block_bytes, _, _, state, _, _ = _STATFS.unpack_from(raw)
    name = uuid.split(b"\0", 1)[0].decode("ascii", "replace")
    return TargetStatfs(index, name, True, blocks * block_bytes, available * block_bytes, flags_of(state))


def pack_ioctl(index: int, statfs_at: int, uuid_at: int) -> bytes:
    """Return the ``struct obd_ioctl_data`` that asks for one OST; results go to the two addresses.

    After the head lie, eight bytes each, the type of target and its index.
    """
    raw = bytearray(_HEAD_BYTES + 16)
    struct.pack_into("=II", raw, 0, len(raw), _VERSION)
    struct.pack_into("=IxxxxQIxxxxQ", raw, 480, _STATFS_BYTES, statfs_at, _UUID_BYTES, uuid_at)
    # The kernel looks for the inline buffers behind the head; an address must be there all the same.
    struct.pack_into("=IxxxxQIxxxxQ", raw, 512, 4, 1, 4, 1)
    struct.pack_into("=I4xI", raw, _HEAD_BYTES, _LOV | _NODELAY, index)
    return bytes(raw)


def _by_ioctl(fd: int) -> Ask:
    def ask(index: int, into: ctypes.Array[ctypes.c_char], uuid: ctypes.Array[ctypes.c_char]) -> int:
        raw = bytearray(pack_ioctl(index, ctypes.addressof(into), ctypes.addressof(uuid)))
        try:
            fcntl.ioctl(fd, _IOC_OBD_STATFS, raw)
        except OSError as error:
            return -(error.errno or errno.EIO)
        return 0

    return ask


def _by_library(fd: int, names: tuple[str, ...]) -> Ask | None:
    for name in names:
        try:
            library = ctypes.CDLL(name)
            quiet, statfs = library.llapi_msg_set_level, library.llapi_obd_fstatfs
        except (OSError, AttributeError):
            continue
        quiet(0)
        return functools.partial(_call, statfs, fd)
    return None


def _call(
    statfs: Callable[..., int],
    fd: int,
    index: int,
    into: ctypes.Array[ctypes.c_char],
    uuid: ctypes.Array[ctypes.c_char],
) -> int:
    return int(statfs(fd, ctypes.c_uint32(_LOV | _NODELAY), ctypes.c_uint32(index), into, uuid))


def ask_targets(
    mount_point: Path, libraries: tuple[str, ...] = ("liblustreapi.so.1", "liblustreapi.so")
) -> Iterator[TargetStatfs]:
    """Yield what the client at a mount point reports of each OST; nothing where it does not know how.

    Raises OSError when the directory cannot be opened.
    """
    fd = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield from _loop(_by_library(fd, libraries) or _by_ioctl(fd))
    finally:
        os.close(fd)


def _loop(ask: Ask) -> Iterator[TargetStatfs]:
    holes = 0
    for index in range(_MAX_OSTS):
        into = ctypes.create_string_buffer(_STATFS_BYTES)
        uuid = ctypes.create_string_buffer(_UUID_BYTES)
        result = ask(index, into, uuid)
        if result == 0:
            holes = 0
            yield parse_statfs(index, into.raw, uuid.raw)
        elif result in (-errno.EAGAIN, -errno.ENODATA) and not uuid.value:
            # A hole in the indexes, an inactive OST, or (2.17) the end.
            holes += 1
            if holes > _HOLES:
                return
        elif result in (-errno.ENODEV, -errno.ENOTTY, -errno.EINVAL, -errno.EOPNOTSUPP, -errno.EPERM):
            return
        else:
            name = uuid.value.decode("ascii", "replace")
            yield TargetStatfs(index, name, False, 0, 0, "")
