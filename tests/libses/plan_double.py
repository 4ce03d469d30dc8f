"""A stand-in for the agent's side of ses/plan.h: a real System V segment, filled as a test tells it.

Offsets are written out by hand, so that a change of the header that forgets its readers is noticed.
"""

import ctypes
import os
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

MAGIC, VERSION, SIZE = 0x4E414C50, 2, 6696960
ALIVE, RETIRED = 1, 2
ENTRIES_AT, ENTRY_SIZE, ENTRIES = 4096, 128, 64
ELEMENTS_AT, ELEMENT_SIZE, ELEMENTS = 12288, 768, 512
REPORTS_AT, REPORT_SIZE, REPORTS = 405504, 512, 4096
TICKETS_AT, TICKET_SIZE, TICKETS = 2502656, 64, 1024
CREATED, NOT_CREATED = 1, 2
MERGERFS, LUSTRE = 1, 2

IPC_CREAT, IPC_EXCL = 0o1000, 0o2000
IPC_RMID, IPC_SET, IPC_STAT = 0, 1, 2

_HEAD = struct.Struct("=IHHQQQIIQQQ")
_ENTRY = struct.Struct("=IIII Q 64s QQQ 16x")
_ELEMENT = struct.Struct("=III 96s 16s 320s 320s 4x")
_TICKET = struct.Struct("=QQQd HH 14H")
_REPORT = struct.Struct("=QQQQQQ IiiiiI 64s 368s 8x")
assert (_ENTRY.size, _ELEMENT.size, _TICKET.size, _REPORT.size) == (128, 768, 64, 512)

HEARTBEAT_AT, GENERATION_AT, CLAIMED_AT, STATE_AT = 40, 48, 56, 36
TAKEN_IN_ENTRY, FILLED_IN_ENTRY, MISSED_IN_ENTRY = 88, 96, 104

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


def fnv1a(text: str, more: bytes = b"") -> int:
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in text.encode() + more:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def key_of(socket: Path, uid: int) -> int:
    """As ses_plan_key()."""
    mixed = (fnv1a(str(socket)) ^ uid) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    key = mixed >> 32 or 1
    return key - (1 << 32) if key >= 1 << 31 else key


def now_ms() -> int:
    """Milliseconds of CLOCK_MONOTONIC."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class PlanReport:
    """One complete report."""

    number: int
    placement_id: int
    device: int
    inode: int
    directory_device: int
    directory_inode: int
    outcome: int
    error: int
    fd: int
    dirfd: int
    pid: int
    application: str
    path: str


class PlanDouble:
    """The segment of one user, made by root; removed by close()."""

    def __init__(
        self,
        socket: Path,
        uid: int = 0,
        *,
        mode: int = 0o600,
        size: int = SIZE,
        owner: int | None = None,
        key: int | None = None,
    ) -> None:
        self.id = _checked(
            _libc.shmget(key_of(socket, uid) if key is None else key, size, IPC_CREAT | IPC_EXCL | mode),
            "shmget",
        )
        self.set_owner(uid if owner is None else owner)
        self.address = _checked(_libc.shmat(self.id, None, 0), "shmat")
        self._places: dict[tuple[object, ...], int] = {}
        self._stopped = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        head = (MAGIC, VERSION, 4096, SIZE, fnv1a(str(socket)), 1, uid, ALIVE, now_ms(), 1, 0)
        self.write(0, _HEAD.pack(*head))
        self._beating.start()

    def set_owner(self, uid: int, mode: int | None = None) -> None:
        status = (ctypes.c_uint32 * 64)()
        _checked(_libc.shmctl(self.id, IPC_STAT, status), "shmctl")
        status[1] = uid  # struct ipc64_perm: key, uid, gid, cuid, cgid, mode
        if mode is not None:
            status[5] = mode
        _checked(_libc.shmctl(self.id, IPC_SET, status), "shmctl")

    def _beat(self) -> None:
        """As far into the future as a program believes, so that a slow machine changes nothing."""
        while True:
            self.put64(HEARTBEAT_AT, now_ms() + 1900)
            if self._stopped.wait(0.2):
                return

    def stop_beating(self) -> None:
        self._stopped.set()
        self._beating.join()

    def write(self, at: int, data: bytes) -> None:
        ctypes.memmove(self.address + at, data, len(data))

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self.address + at, size)

    def get64(self, at: int) -> int:
        return ctypes.c_uint64.from_address(self.address + at).value

    def put64(self, at: int, value: int) -> None:
        ctypes.c_uint64.from_address(self.address + at).value = value

    def put32(self, at: int, value: int) -> None:
        ctypes.c_uint32.from_address(self.address + at).value = value

    def entry(
        self, number: int, device: int, application: str = "", sequence: int = 2, stated: bytes = b""
    ) -> None:
        """Entry NUMBER, without tickets, is about APPLICATION, and what it has STATED, on DEVICE."""
        at = ENTRIES_AT + number * ENTRY_SIZE
        hash = fnv1a(application, stated)
        about = (os.major(device), os.minor(device), 0, hash, application.encode(), 0, 0, 0)
        self.write(at, _ENTRY.pack(sequence, *about))
        self.put64(GENERATION_AT, self.get64(GENERATION_AT) + 1)

    def element(
        self,
        element: str,
        *,
        backend: int = MERGERFS,
        index: int = 0,
        form: int = 0,
        pool: str = "",
        stage: str = "",
        stage_in_union: str = "",
    ) -> int:
        """The place of this element, which is written the first time."""
        fields = (backend, index, form, element, pool, stage, stage_in_union)
        if fields not in self._places:
            place = self._places[fields] = len(self._places)
            texts = (text.encode() for text in (element, pool, stage, stage_in_union))
            self.write(ELEMENTS_AT + place * ELEMENT_SIZE, _ELEMENT.pack(backend, index, form, *texts))
        return self._places[fields]

    def ticket(
        self,
        number: int,
        placement_id: int,
        *elements: int,
        expires_ms: int | None = None,
        distance: float = 0.0,
        count: int | None = None,
    ) -> int:
        """Fill one ticket into entry NUMBER; returns where it lies."""
        at = ENTRIES_AT + number * ENTRY_SIZE
        filled = self.get64(at + FILLED_IN_ENTRY)
        slot = TICKETS_AT + (number * TICKETS + filled % TICKETS) * TICKET_SIZE
        expires = now_ms() + 3_600_000 if expires_ms is None else expires_ms
        listed = (*elements, *[0] * (14 - len(elements)))
        count = len(elements) if count is None else count
        self.write(slot, _TICKET.pack(placement_id, expires, 0, distance, 0, count, *listed))
        self.put64(at + FILLED_IN_ENTRY, filled + 1)
        return slot

    def stock(self, number: int) -> int:
        """How many tickets of entry NUMBER are still to be taken."""
        at = ENTRIES_AT + number * ENTRY_SIZE
        return self.get64(at + FILLED_IN_ENTRY) - self.get64(at + TAKEN_IN_ENTRY)

    def missed(self, number: int) -> int:
        return self.get64(ENTRIES_AT + number * ENTRY_SIZE + MISSED_IN_ENTRY)

    def slots(self) -> list[int]:
        """The states of all report slots."""
        return [self.get64(REPORTS_AT + slot * REPORT_SIZE) for slot in range(REPORTS)]

    def reports(self) -> list[PlanReport]:
        """All complete reports, by the number of their claim; nothing is freed."""
        found = []
        for slot, state in enumerate(self.slots()):
            if state == 0 or state % 2:
                continue
            _, placement, device, inode, directory_device, directory_inode, *rest = _REPORT.unpack(
                self.read(REPORTS_AT + slot * REPORT_SIZE, REPORT_SIZE)
            )
            outcome, error, fd, dirfd, pid, length, application, path = rest
            found.append(
                PlanReport(
                    state // 2 - 1, placement, device, inode, directory_device, directory_inode, outcome,
                    error, fd, dirfd, pid, application.split(b"\0", 1)[0].decode(), path[:length].decode(),
                )
            )  # fmt: skip
        return sorted(found, key=lambda report: report.number)

    def close_key(self) -> None:
        """Remove the segment; whoever has it attached keeps it, nobody finds it any more."""
        _libc.shmctl(self.id, IPC_RMID, None)

    def close(self) -> None:
        self.stop_beating()
        self.close_key()
        _libc.shmdt(self.address)
