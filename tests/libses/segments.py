"""System V segments as an agent makes them, for the fakes of its side."""

import ctypes
import os
import time
from pathlib import Path

ALIVE, RETIRED = 1, 2
IPC_CREAT, IPC_EXCL = 0o1000, 0o2000
IPC_RMID, IPC_SET, IPC_STAT = 0, 1, 2
IPC_PRIVATE = 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
_libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


def _checked(result: int | None, what: str) -> int:
    if result is None or result in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def fnv1a(text: str) -> int:
    """64-bit FNV-1a, as ses_segment_hash()."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def key_of(socket: Path, number: int) -> int:
    """As ses_segment_key()."""
    mixed = (fnv1a(str(socket)) ^ number) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    key = mixed >> 32 or 1
    return key - (1 << 32) if key >= 1 << 31 else key


def now_ms() -> int:
    """Milliseconds of CLOCK_MONOTONIC."""
    return time.monotonic_ns() // 1_000_000


class Segment:
    """One segment, made by root; removed by close()."""

    def __init__(self, key: int, size: int, mode: int, owner: int) -> None:
        flags = mode | IPC_CREAT | (0 if key == IPC_PRIVATE else IPC_EXCL)
        self.id = _checked(_libc.shmget(key, size, flags), "shmget")
        self.size = size
        if owner != 0:
            self.set_owner(owner)
        self.address = _checked(_libc.shmat(self.id, None, 0), "shmat")

    def set_owner(self, uid: int, mode: int | None = None) -> None:
        status = (ctypes.c_uint32 * 64)()
        _checked(_libc.shmctl(self.id, IPC_STAT, status), "shmctl")
        status[1] = uid  # struct ipc64_perm: key, uid, gid, cuid, cgid, mode
        if mode is not None:
            status[5] = mode
        _checked(_libc.shmctl(self.id, IPC_SET, status), "shmctl")

    def write(self, at: int, data: bytes) -> None:
        ctypes.memmove(self.address + at, data, len(data))

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self.address + at, size)

    def get64(self, at: int) -> int:
        return ctypes.c_uint64.from_address(self.address + at).value

    def put64(self, at: int, value: int) -> None:
        ctypes.c_uint64.from_address(self.address + at).value = value

    def get32(self, at: int) -> int:
        return ctypes.c_uint32.from_address(self.address + at).value

    def put32(self, at: int, value: int) -> None:
        ctypes.c_uint32.from_address(self.address + at).value = value

    def remove(self) -> None:
        """Whoever has it attached keeps it; nobody finds it any more."""
        _libc.shmctl(self.id, IPC_RMID, None)

    def close(self) -> None:
        self.remove()
        _libc.shmdt(self.address)
