"""The program's side of ses/table.h and ses/claims.h: read the table, make claims, say what came of them.

Real shared memory and real compare-and-swap, beside a real agent.  Offsets are written out by hand, so
that a change of a header that forgets its readers is noticed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from patience import wait_until
from program_side import LUSTRE, indexes_in

if TYPE_CHECKING:
    from running_agent import Agent

ALIVE, RETIRED = 1, 2
CREATED, NOT_CREATED = 1, 2
IPC_RMID, IPC_STAT = 0, 2
NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
_libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_libc.syscall.argtypes = (ctypes.c_long, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
_FUTEX, _FUTEX_WAKE = 202, 1
_atomic = ctypes.CDLL("libatomic.so.1")
_swap = getattr(_atomic, "__atomic_compare_exchange_8")
_swap.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_int)
_swap.restype = ctypes.c_bool
_add = getattr(_atomic, "__atomic_fetch_add_4")
_add.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int)
_SEQUENTIAL = 5
_SHM_RDONLY = 0o10000


def fnv1a(text: str) -> int:
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def key_of(socket: Path, number: int = 0) -> int:
    """As ses_segment_key()."""
    mixed = (fnv1a(str(socket)) ^ number) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    key = mixed >> 32 or 1
    return key - (1 << 32) if key >= 1 << 31 else key


def segment_of(socket: Path) -> int | None:
    """The id of the table's segment, None while there is none."""
    return segment_under(key_of(socket))


def segment_under(key: int) -> int | None:
    """The id of the segment of that key, None while there is none."""
    id = int(_libc.shmget(key, 0, 0))
    return None if id < 0 else id


def remove_segment(id: int) -> None:
    """As ipcrm does it."""
    _libc.shmctl(id, IPC_RMID, None)


def owner_of(id: int) -> tuple[int, int, int] | None:
    """Maker, owner and mode; None when there is no such segment."""
    status = (ctypes.c_uint32 * 64)()
    if _libc.shmctl(id, IPC_STAT, status) != 0:
        return None
    return status[3], status[1], status[5] & 0o777  # struct ipc64_perm: key, uid, gid, cuid, cgid, mode


class _Segment:
    def __init__(self, id: int, *, read_only: bool = False) -> None:
        address = _libc.shmat(id, None, _SHM_RDONLY if read_only else 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "shmat")
        self.id, self.address = id, int(address)

    def detach(self) -> None:
        _libc.shmdt(self.address)

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self.address + at, size)

    def write(self, at: int, data: bytes) -> None:
        ctypes.memmove(self.address + at, data, len(data))

    def get32(self, at: int) -> int:
        return ctypes.c_uint32.from_address(self.address + at).value

    def get64(self, at: int) -> int:
        return ctypes.c_uint64.from_address(self.address + at).value

    def put32(self, at: int, value: int) -> None:
        ctypes.c_uint32.from_address(self.address + at).value = value

    def put64(self, at: int, value: int) -> None:
        ctypes.c_uint64.from_address(self.address + at).value = value

    def move(self, at: int, before: int, after: int) -> bool:
        """Compare and swap."""
        expected = ctypes.c_uint64(before)
        where = self.address + at
        return bool(_swap(where, ctypes.byref(expected), after & (1 << 64) - 1, _SEQUENTIAL, _SEQUENTIAL))


@dataclass(frozen=True)
class Row:
    """One element as it is in the table now."""

    element: str
    branch: Path
    pool: str
    index: int
    form: int
    members: tuple[int, ...]  # of the pool
    own: float
    reserved: float
    foreign: float
    last_placed: int
    state: int
    excluded: bool
    server_rate: float
    server_streams: float
    promises: tuple[float, float, float]  # how many, the largest rate, the largest hard one
    kept_for: float


class Table(_Segment):
    """The attached candidate table."""

    SIZE: ClassVar[int] = 352256
    STATE, ASLEEP, USERS, MOUNTS = 40, 44, 48, 52
    USERS_AT, MOUNTS_AT, SYSTEMS_AT, SYSTEM_SIZE = 4096, 8192, 20480, 41472
    _ELEMENT = struct.Struct("=6d Q 6f 4f II 4f 8x")
    _PLACE = struct.Struct("=II 96s 16s 384s 8x")

    def __init__(self, socket: Path) -> None:
        wait_until(lambda: segment_of(socket) is not None, "a table appears")
        super().__init__(segment_of(socket) or 0, read_only=True)

    def system(self, number: int = 0) -> dict[str, int]:
        at = self.SYSTEMS_AT + number * self.SYSTEM_SIZE
        names = "sequence backend count candidate_limit epoch sent_ms excluded"
        head = dict(zip(names.split(), struct.unpack("=IIIIQQQ", self.read(at, 40)), strict=True))
        return head | {"streams": int.from_bytes(self.read(at + 396, 4), "little")}

    def rows(self, number: int = 0) -> list[Row]:
        at = self.SYSTEMS_AT + number * self.SYSTEM_SIZE
        head = self.system(number)
        listed = []
        for row in range(head["count"]):
            values = self._ELEMENT.unpack(self.read(at + 512 + row * 128, 128))
            index, form, element, pool, there = self._PLACE.unpack(self.read(at + 8704 + row * 512, 512))
            branch, members = (b"", there) if head["backend"] == LUSTRE else (there, b"")
            texts = [text.split(b"\0", 1)[0].decode() for text in (element, branch, pool)]
            listed.append(
                Row(
                    *(texts[0], Path(texts[1]), texts[2], index, form, indexes_in(members)),
                    *(values[11], values[4], values[9], values[6], values[17]),
                    *(bool(head["excluded"] >> row & 1), values[5], values[12]),
                    *((values[21], values[19], values[20]), values[22]),
                )
            )
        return listed

    def own(self, number: int = 0) -> dict[str, float]:
        return {row.element: row.own for row in self.rows(number)}

    def users(self) -> dict[int, tuple[int, int]]:
        """Segment and instance by uid."""
        users = {}
        for place in range(min(self.get32(self.USERS), 256)):
            uid, segment, instance = struct.unpack("=IiQ", self.read(self.USERS_AT + place * 16, 16))
            if segment >= 0:
                users[uid] = (segment, instance)
        return users

    def mounts(self) -> dict[int, tuple[int, str]]:
        """System and mount point by device."""
        mounts = {}
        for place in range(min(self.get32(self.MOUNTS), 32)):
            raw = self.read(self.MOUNTS_AT + place * 304, 304)
            major, minor, system, _, path = struct.unpack("=IIII288s", raw)
            if system < 8:
                mounts[os.makedev(major, minor)] = (system, path.split(b"\0", 1)[0].decode())
        return mounts

    def wake(self) -> bool:
        """As programs do; return whether the agent slept."""
        asleep = self.get32(self.ASLEEP) == 1
        return asleep and _libc.syscall(_FUTEX, self.address + self.ASLEEP, _FUTEX_WAKE, 1) == 1


@dataclass(frozen=True)
class Claim:
    """A claim that was made: its slot, what it was chosen from."""

    slot: int
    state: int
    row: int
    element: str
    branch: Path
    epoch: int
    seen: tuple[int, ...]

    @property
    def number(self) -> int:
        return self.state // 2


@dataclass(frozen=True)
class Entry:
    """What files of one application need."""

    application: int
    digest: int
    room: float
    requirements: tuple[tuple[int, int, int, float, float], ...]  # kind, hard, at most, bound, weight


class Claims(_Segment):
    """The attached claims of a user, and the table they are made from."""

    STATE, GENERATION, NEXT, STAGED = 28, 32, 40, 48
    CLAIMED_AT, COUNTED_AT, NEEDS_AT, SLOTS_AT = 4096, 6144, 8192, 24576
    SLOTS, SLOT_SIZE = 2048, 1024
    SIZE: ClassVar[int] = 2121728
    _NEED = struct.Struct("=ddII" + "IHHdd" * 8)
    _BODY = struct.Struct("=QQQQQQ IiiiiI II 14s BB IIII 216s 64H 64s 368s 128x")  # all but the state

    def __init__(self, socket: Path, uid: int = 0) -> None:
        self.table = Table(socket)
        wait_until(lambda: uid in self.table.users(), f"no claims of uid {uid} appeared")
        id, self.instance = self.table.users()[uid]
        super().__init__(id)

    @property
    def state(self) -> int:
        return self.get32(self.STATE)

    def staged(self, system: int = 0) -> int:
        return self.get64(self.STAGED + 8 * system)

    def wait_until_staged(self, system: int = 0) -> None:
        def are_staged() -> bool:
            count = self.table.system(system)["count"]
            every = (1 << count) - 1
            return count > 0 and self.staged(system) & every == every

        wait_until(are_staged, "the staging directories are there")

    def open_claims(self, system: int = 0) -> list[int]:
        """Claims of each row that the table does not hold yet."""
        count = self.table.system(system)["count"]
        at = 256 * system
        return [
            self.get32(self.CLAIMED_AT + at + 4 * row) - self.get32(self.COUNTED_AT + at + 4 * row)
            for row in range(count)
        ]

    def needs(self) -> list[Entry]:
        needs = []
        for place in range(64):
            raw = self.read(self.NEEDS_AT + place * 256, 256)
            sequence, _, application, digest = struct.unpack("=IIQQ", raw[:24])
            if sequence == 0:
                break
            _, room, count, _, *values = self._NEED.unpack(raw[24:240])
            wanted = tuple(tuple(values[5 * i : 5 * i + 5]) for i in range(count))
            needs.append(Entry(application, digest, room, wanted))  # type: ignore[arg-type]
        return needs

    def take_slot(self) -> tuple[int, int]:
        """The place of a free slot, and the state of the claim."""
        while True:
            number = self.get64(self.NEXT)
            at = self.SLOTS_AT + number % self.SLOTS * self.SLOT_SIZE
            free = self.move(at, 0, 2 * number + 1)
            self.move(self.NEXT, number, number + 1)
            if free:
                return at, 2 * number + 1

    def choose(self, *, row: int | None = None, system: int = 0) -> Claim:
        """Claim the row with the fewest streams, or ROW, as the library would."""
        slot, state = self.take_slot()
        epoch = self.table.system(system)["epoch"]
        claims = self.open_claims(system)  # first: what the table takes up meanwhile is not missed
        rows = self.table.rows(system)
        seen = [round(element.own) + more for element, more in zip(rows, claims, strict=True)]
        if row is None:
            row = min(
                range(len(rows)),
                key=lambda place: (rows[place].excluded, seen[place], rows[place].last_placed),
            )
        _add(self.address + self.CLAIMED_AT + 256 * system + 4 * row, 1, _SEQUENTIAL)
        self.table.wake()
        return Claim(slot, state, row, rows[row].element, rows[row].branch, epoch, tuple(seen))

    def complete(
        self,
        claim: Claim,
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
        expected_bytes: float = -1.0,
        room: float = -1.0,
        epoch: int | None = None,
        system: int = 0,
        rows: tuple[int, ...] | None = None,
        began: tuple[int, int, int, int] = (0, 0, 0, 0),  # first row, how many compared, rank, ranks
        requirement: tuple[int, int, int, float, float] | None = None,  # as of an Entry
        digest: int = 0,
        stated: int = 0,
    ) -> None:
        device, inode = (status.st_dev, status.st_ino) if status else (0, 0)
        above = (directory.st_dev, directory.st_ino) if directory else (0, 0)
        name = os.fsencode(path)
        chosen = (claim.row,) if rows is None else rows
        asked = () if requirement is None else requirement
        none = [0, 0, 0, 0.0, 0.0] * (8 - bool(asked))
        need = self._NEED.pack(expected_bytes, room, bool(asked), 0, *asked, *none)
        body = self._BODY.pack(
            *(device, inode, *above, claim.epoch if epoch is None else epoch, digest),
            *(outcome, error, fd, dirfd, os.getpid() if pid is None else pid, len(name)),
            *(system, len(chosen), bytes(chosen), 1, *began, stated, need),
            *(*claim.seen, *[0] * (64 - len(claim.seen))),
            *(application.encode(), name),
        )
        self.write(claim.slot + 8, body)
        assert self.move(claim.slot, claim.state, claim.state + 1)

    def create(self, claim: Claim, path: Path, **details: object) -> int:
        """Create `path` as the library would, complete the claim, and return the open descriptor."""
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        facts = {"status": os.fstat(fd), "directory": path.parent.stat(), "fd": fd, "path": path, **details}
        self.complete(claim, **facts)  # type: ignore[arg-type]
        return fd

    def id_of(self, claim: Claim) -> str:
        """As ses_claims_id()."""
        mask = (1 << 64) - 1
        mixed = self.instance + (claim.number + 1) * 0x9E3779B97F4A7C15 & mask
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & mask
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & mask
        return f"{mixed ^ mixed >> 31 or 1:016x}"


def counted(socket: Path) -> float:
    """Open files of this node, as its programs see them."""
    table = Table(socket)
    try:
        return sum(table.own().values())
    finally:
        table.detach()


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


def make_foreign_segment(socket: Path, maker: int, number: int = 0) -> int:
    """A segment under the key of the table (or NUMBER) that a process of `maker` made; needs root."""
    key = key_of(socket, number)
    as_user(maker, lambda: _libc.shmget(key, 4096, 0o1600))
    id = segment_under(key)
    assert id is not None
    return id


def remove_segments(socket: Path) -> None:
    """Remove what an agent that was killed left."""
    if (id := segment_of(socket)) is None:
        return
    with contextlib.suppress(OSError):
        table = Table(socket)
        for segment, _ in table.users().values():
            remove_segment(segment)
        table.detach()
    remove_segment(id)


@contextlib.contextmanager
def attached(agent: Agent, counted: int = 0) -> Iterator[Claims]:
    """The claims of this user, who has asked once: the system's own users have none before.

    They are there once nothing is counted any more but ``counted`` files of others.
    """
    agent.ask().close()
    claims = Claims(agent.socket, os.getuid())
    claims.wait_until_staged()
    wait_until(lambda: sum(claims.table.own().values()) == counted, "nothing of this node is counted")
    yield claims
    claims.detach()
    claims.table.detach()
