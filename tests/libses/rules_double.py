"""A stand-in for the agent's side of ses/rules.h, with offsets written out by hand."""

import ctypes
import struct
from pathlib import Path

from plan_double import (
    ALIVE,
    IPC_CREAT,
    IPC_EXCL,
    IPC_RMID,
    IPC_SET,
    IPC_STAT,
    _checked,
    _libc,
    fnv1a,
    key_of,
)

MAGIC, VERSION, SIZE = 0x454C5552, 1, 16384
STATE_AT = 24
NOBODY_AT_ALL = (1 << 32) - 1

_RULES = struct.Struct("=IHHQQI36x 4032s 8192s 4096s")
assert _RULES.size == SIZE


class RulesDouble:
    """The segment of root; removed by close()."""

    def __init__(
        self,
        socket: Path,
        *,
        include: str = "",
        exclude: str = "",
        programs: str = "",
        mode: int = 0o644,
        owner: int = 0,
        size: int = SIZE,
        magic: int = MAGIC,
        version: int = VERSION,
    ) -> None:
        key = key_of(socket, NOBODY_AT_ALL)
        self.id = _checked(_libc.shmget(key, size, IPC_CREAT | IPC_EXCL | mode), "shmget")
        self.address = _checked(_libc.shmat(self.id, None, 0), "shmat")
        texts = (text.encode() for text in (include, exclude, programs))
        data = _RULES.pack(magic, version, 64, SIZE, fnv1a(str(socket)), ALIVE, *texts)
        ctypes.memmove(self.address, data, min(size, SIZE))
        if owner != 0:
            status = (ctypes.c_uint32 * 64)()
            _checked(_libc.shmctl(self.id, IPC_STAT, status), "shmctl")
            status[1] = owner  # struct ipc64_perm: key, uid, gid, cuid, cgid, mode
            _checked(_libc.shmctl(self.id, IPC_SET, status), "shmctl")

    def set_state(self, state: int) -> None:
        ctypes.c_uint32.from_address(self.address + STATE_AT).value = state

    def close(self) -> None:
        _libc.shmctl(self.id, IPC_RMID, None)
        _libc.shmdt(self.address)
