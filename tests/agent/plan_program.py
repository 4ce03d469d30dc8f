"""The program's side of ses/plan.h: attach the plan of a user, take tickets, report.

Real shared memory and real compare-and-swap, beside a real agent.  Offsets are written out by hand, so
that a change of the header that forgets its readers is noticed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from patience import PATIENCE

MAGIC, VERSION, SIZE = 0x4E414C50, 2, 6696960
ALIVE, RETIRED = 1, 2
HEAD_SIZE = 4096
STATE_AT, HEARTBEAT_AT, GENERATION_AT, CLAIMED_AT = 36, 40, 48, 56
ENTRIES_AT, ENTRY_SIZE, ENTRIES = 4096, 128, 64
ELEMENTS_AT, ELEMENT_SIZE, ELEMENTS = 12288, 768, 512
REPORTS_AT, REPORT_SIZE, REPORTS = 405504, 512, 4096
TICKETS_AT, TICKET_SIZE, TICKETS = 2502656, 64, 1024
TAKEN_IN_ENTRY, FILLED_IN_ENTRY, MISSED_IN_ENTRY = 88, 96, 104
CREATED, NOT_CREATED = 1, 2
IPC_RMID, IPC_STAT = 0, 2
NOBODY = 65534

_HEAD = struct.Struct("=IHHQQQIIQQQ")
_ENTRY = struct.Struct("=IIII Q 64s QQQ 16x")
_ELEMENT = struct.Struct("=III 96s 16s 320s 320s 4x")
_TICKET = struct.Struct("=QQQd HH 14H")
_REPORT = struct.Struct("=QQQQQ IiiiiI 64s 368s 8x")  # all but the state

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
_libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_atomic = ctypes.CDLL("libatomic.so.1")
_swap = getattr(_atomic, "__atomic_compare_exchange_8")
_swap.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_int)
_swap.restype = ctypes.c_bool
_SEQUENTIAL = 5


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


def segment_of(socket: Path, uid: int = 0) -> int | None:
    """The id of the segment, None while there is none."""
    id = int(_libc.shmget(key_of(socket, uid), 0, 0))
    return None if id < 0 else id


def remove_segment(id: int) -> None:
    """As ipcrm does it."""
    _libc.shmctl(id, IPC_RMID, None)


def owner_of(id: int) -> tuple[int, int, int]:
    """Maker, owner and mode."""
    status = (ctypes.c_uint32 * 64)()
    if _libc.shmctl(id, IPC_STAT, status) != 0:
        raise OSError(ctypes.get_errno(), "shmctl")
    return status[3], status[1], status[5] & 0o777  # struct ipc64_perm: key, uid, gid, cuid, cgid, mode


@dataclass(frozen=True)
class Entry:
    """One entry that is in use."""

    number: int
    application: str
    device: int
    taken: int
    filled: int
    missed: int

    @property
    def stock(self) -> int:
        return self.filled - self.taken


@dataclass(frozen=True)
class Ticket:
    """A ticket that was taken, with the slot claimed for its report."""

    placement: str
    expires_ms: int
    distance: float
    elements: tuple[str, ...]
    stage: Path
    slot: int
    state: int


class Plan:
    """An attached plan."""

    def __init__(self, socket: Path, uid: int = 0) -> None:
        self.stated: dict[int, str] = {}  # what a test calls entries with requirements, by their hash
        end = time.monotonic() + PATIENCE
        while (id := segment_of(socket, uid)) is None or not self._attach(id):
            assert time.monotonic() < end, f"no plan of uid {uid} appeared"
            time.sleep(0.01)

    def _attach(self, id: int) -> bool:
        address = _libc.shmat(id, None, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            return False
        self.id, self.address = id, int(address)
        return True

    def detach(self) -> None:
        _libc.shmdt(self.address)

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self.address + at, size)

    def write(self, at: int, data: bytes) -> None:
        ctypes.memmove(self.address + at, data, len(data))

    def get64(self, at: int) -> int:
        return ctypes.c_uint64.from_address(self.address + at).value

    def put64(self, at: int, value: int) -> None:
        ctypes.c_uint64.from_address(self.address + at).value = value

    def move(self, at: int, before: int, after: int) -> bool:
        """Compare and swap."""
        expected = ctypes.c_uint64(before)
        return bool(
            _swap(self.address + at, ctypes.byref(expected), after & (1 << 64) - 1, _SEQUENTIAL, _SEQUENTIAL)
        )

    @property
    def state(self) -> int:
        return ctypes.c_uint32.from_address(self.address + STATE_AT).value

    def head(self) -> dict[str, int]:
        names = "magic version head_size size socket_hash instance uid state heartbeat generation claimed"
        return dict(zip(names.split(), _HEAD.unpack(self.read(0, _HEAD.size)), strict=True))

    def entries(self) -> dict[tuple[str, int], Entry]:
        """All entries by application, with what it states itself, and device."""
        found = {}
        for number in range(ENTRIES):
            raw = self.read(ENTRIES_AT + number * ENTRY_SIZE, ENTRY_SIZE)
            sequence, major, minor, _, hash, application, taken, filled, missed = _ENTRY.unpack(raw)
            name = application.split(b"\0", 1)[0].decode()
            if sequence == 0:
                break
            if sequence % 2 == 0 and (major, minor) != (0, 0):
                name = self.stated.get(hash, name)
                assert hash in self.stated or hash == fnv1a(name)
                device = os.makedev(major, minor)
                found[name, device] = Entry(number, name, device, taken, filled, missed)
        return found

    def entry(self, device: int, application: str = "") -> Entry | None:
        return self.entries().get((application, device))

    def stock(self, device: int, application: str = "") -> int:
        entry = self.entry(device, application)
        return entry.stock if entry else 0

    def _element(self, number: int) -> tuple[str, Path]:
        raw = self.read(ELEMENTS_AT + number * ELEMENT_SIZE, ELEMENT_SIZE)
        _, _, _, element, _, stage, _ = _ELEMENT.unpack(raw)
        return element.split(b"\0", 1)[0].decode(), Path(stage.split(b"\0", 1)[0].decode())

    def lustre_places(self, device: int, application: str = "") -> set[tuple[int, int, str]]:
        """Form, index and pool of the first element of each ticket that can be taken."""
        entry = self.entry(device, application)
        assert entry
        found = set()
        for number in range(entry.taken, entry.filled):
            at = TICKETS_AT + (entry.number * TICKETS + number % TICKETS) * TICKET_SIZE
            place = _TICKET.unpack(self.read(at, TICKET_SIZE))[6]
            raw = self.read(ELEMENTS_AT + place * ELEMENT_SIZE, ELEMENT_SIZE)
            _, index, form, _, pool, *_ = _ELEMENT.unpack(raw)
            found.add((form, index, pool.split(b"\0", 1)[0].decode()))
        return found

    def waiting(self, device: int, application: str = "") -> list[tuple[str, ...]]:
        """The elements of each ticket that can be taken; rubbish while they change."""
        entry = self.entry(device, application)
        if entry is None:
            return []
        found = []
        for number in range(entry.taken, entry.filled):
            at = TICKETS_AT + (entry.number * TICKETS + number % TICKETS) * TICKET_SIZE
            _, _, _, _, _, count, *places = _TICKET.unpack(self.read(at, TICKET_SIZE))
            found.append(tuple(self._element(place)[0] for place in places[:count]))
        return found

    def claim(self) -> tuple[int, int]:
        """The place of a free report slot, and the state of the claim."""
        while True:
            number = self.get64(CLAIMED_AT)
            at = REPORTS_AT + number % REPORTS * REPORT_SIZE
            free = self.move(at, 0, 2 * number + 1)
            self.move(CLAIMED_AT, number, number + 1)
            if free:
                return at, 2 * number + 1

    def miss(self, entry: Entry) -> None:
        at = ENTRIES_AT + entry.number * ENTRY_SIZE + MISSED_IN_ENTRY
        self.put64(at, self.get64(at) + 1)

    def take(self, device: int, application: str = "") -> Ticket | None:
        """The next ticket of the entry; None counts as missed."""
        entry = self.entry(device, application)
        if entry is None:
            return None
        at = ENTRIES_AT + entry.number * ENTRY_SIZE
        slot, state = self.claim()
        while (taken := self.get64(at + TAKEN_IN_ENTRY)) != self.get64(at + FILLED_IN_ENTRY):
            ticket = TICKETS_AT + (entry.number * TICKETS + taken % TICKETS) * TICKET_SIZE
            placement, expires, _, distance, _, count, *places = _TICKET.unpack(
                self.read(ticket, TICKET_SIZE)
            )
            elements = [self._element(place) for place in places[:count]]
            if self.move(at + TAKEN_IN_ENTRY, taken, taken + 1):
                assert expires > time.monotonic_ns() // 1_000_000
                names = tuple(name for name, _ in elements)
                return Ticket(f"{placement:016x}", expires, distance, names, elements[0][1], slot, state)
        self.move(slot, state, 0)
        self.miss(entry)
        return None

    def take_soon(self, device: int, application: str = "") -> Ticket:
        end = time.monotonic() + PATIENCE
        while (ticket := self.take(device, application)) is None:
            assert time.monotonic() < end, "no ticket appeared"
            time.sleep(0.005)
        return ticket

    def report(
        self,
        ticket: Ticket,
        outcome: int = CREATED,
        *,
        status: os.stat_result | None = None,
        directory: os.stat_result | None = None,
        fd: int = -1,
        dirfd: int = -100,
        error: int = 0,
        pid: int | None = None,
        path: bytes | str | Path = b"",
        application: str = "program",
        placement: int | None = None,
    ) -> None:
        device, inode = (status.st_dev, status.st_ino) if status else (0, 0)
        above = (directory.st_dev, directory.st_ino) if directory else (0, 0)
        name = os.fsencode(path)
        body = _REPORT.pack(
            *(int(ticket.placement, 16) if placement is None else placement, device, inode, *above),
            *(outcome, error, fd, dirfd, os.getpid() if pid is None else pid, len(name)),
            *(application.encode(), name),
        )
        self.write(ticket.slot + 8, body)
        assert self.move(ticket.slot, ticket.state, ticket.state + 1)

    def create(self, ticket: Ticket, path: Path, **details: object) -> int:
        """Create `path` as the library would, report it, and return the open descriptor."""
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        facts = {"status": os.fstat(fd), "directory": path.parent.stat(), "fd": fd, "path": path, **details}
        self.report(ticket, **facts)  # type: ignore[arg-type]
        return fd


def as_user(uid: int, act: Callable[[], object]) -> None:
    """Do something in a process of another user; needs root."""
    if (pid := os.fork()) == 0:
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            act()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def make_foreign_segment(socket: Path, uid: int, maker: int) -> int:
    """A segment under the key of `uid` that a process of `maker` made; needs root."""
    key = key_of(socket, uid)
    as_user(maker, lambda: _libc.shmget(key, 4096, 0o1600))
    id = segment_of(socket, uid)
    assert id is not None
    return id


def remove_plans(socket: Path) -> None:
    """Remove what an agent that was killed left."""
    for uid in (os.geteuid(), NOBODY):
        if (id := segment_of(socket, uid)) is not None:
            remove_segment(id)
