"""A fake of the agent's side of ses/table.h and ses/claims.h: real segments, filled as a test tells it.

Offsets are written out by hand, so that a change of the headers that forgets their readers is noticed.
"""

import ctypes
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ses_core
from numpy.typing import NDArray
from segments import ALIVE, IPC_PRIVATE, Segment, fnv1a, key_of, now_ms
from ses_core import layout

CREATED, NOT_CREATED = 1, 2
MERGERFS, LUSTRE = 1, 2

MAGIC, VERSION, SIZE = 0x4C424154, 1, 352256
USERS_AT, MOUNTS_AT, SYSTEMS_AT = 4096, 8192, 20480
MOUNT_SIZE, SYSTEM_SIZE = 304, 41472
ELEMENTS_AT, PLACES_AT, ELEMENTS = 512, 8704, 64
SYSTEMS, STRIPES = 8, 14
HEARTBEAT_AT, STATE_AT, ASLEEP_AT, USERS_COUNT_AT, MOUNTS_COUNT_AT = 32, 40, 44, 48, 52
COUNT_AT, FEW_AT, EPOCH_AT, EXCLUDED_AT, POLICY_AT = 8, 12, 16, 32, 40
TOTAL_AT, NUMBERS_AT, STREAMS_AT = 136, 140, 396

CLAIMS_MAGIC, CLAIMS_VERSION, CLAIMS_SIZE = 0x4D494C43, 1, 2121728
CLAIMED_AT, COUNTED_AT, NEEDS_AT, CLAIMS_AT = 4096, 6144, 8192, 24576
NEED_SIZE, CLAIM_SIZE, SLOTS, NEEDS = 256, 1024, 2048, 64
CLAIMS_STATE_AT, GENERATION_AT, NEXT_AT, STAGED_AT = 28, 32, 40, 48

_HEAD = struct.Struct("=IHHQQQQIIII")
_MOUNT = struct.Struct("=IIII 288s")
_PLACE = struct.Struct("=II 96s 16s 384s 8x")
_CLAIMS_HEAD = struct.Struct("=IHHQQIIQQ")
_CLAIM = struct.Struct("=QQQQQQQ IiiiiIII 14sBB IIII")
assert (_MOUNT.size, _PLACE.size, _CLAIM.size) == (304, 512, 120)

Records = NDArray[Any]
_EVERY_ROW = (1 << 64) - 1


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode()


def _view(segment: Segment, at: int, count: int, dtype: np.dtype[Any]) -> Records:
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(segment.address + at)
    return np.ndarray((count,), dtype, buffer=memory)


def placement_id(instance: int, number: int) -> int:
    """As ses_claims_id(): the finaliser of splitmix64."""
    every = (1 << 64) - 1
    mixed = (instance + (number + 1) * 0x9E3779B97F4A7C15) & every
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & every
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & every
    return mixed ^ mixed >> 31 or 1


@dataclass(frozen=True)
class Claim:
    """One complete claim."""

    number: int
    device: int
    inode: int
    directory_device: int
    directory_inode: int
    epoch: int
    digest: int
    outcome: int
    error: int
    fd: int
    dirfd: int
    pid: int
    system: int
    rows: tuple[int, ...]
    attempts: int
    first: int
    candidate_limit: int
    rank: int
    ranks: int
    stated: int
    need: Records
    seen: tuple[int, ...]
    application: str
    path: str


class FakeClaims(Segment):
    """The claims of one user, as yet without needs."""

    def __init__(
        self, uid: int, *, mode: int = 0o600, size: int = CLAIMS_SIZE, owner: int | None = None
    ) -> None:
        super().__init__(IPC_PRIVATE, size, mode, uid if owner is None else owner)
        self.uid = uid
        self.instance = int.from_bytes(os.urandom(8)) | 1
        head = (CLAIMS_MAGIC, CLAIMS_VERSION, 4096, CLAIMS_SIZE, self.instance, uid, ALIVE, 1, 0)
        self.write(0, _CLAIMS_HEAD.pack(*head))
        for system in range(SYSTEMS):
            self.put64(STAGED_AT + 8 * system, _EVERY_ROW)

    def need(
        self,
        number: int,
        *requirements: tuple[int, bool, bool, float, float],
        application: str = "",
        digest: int = 1,
        sequence: int = 2,
        size: float = -1.0,
        room: float = -1.0,
    ) -> None:
        """Entry NUMBER; requirements as in ses_core.need()."""
        at = NEEDS_AT + number * NEED_SIZE
        need = ses_core.need(*requirements, size=size, room=room)
        self.write(at + 8, struct.pack("=QQ", fnv1a(application), digest) + need.tobytes())
        self.put32(at, sequence)
        self.put64(GENERATION_AT, self.get64(GENERATION_AT) + 1)

    def claimed(self, system: int = 0) -> list[int]:
        return [self.get32(CLAIMED_AT + (system * ELEMENTS + row) * 4) for row in range(ELEMENTS)]

    def counted(self, system: int = 0) -> list[int]:
        return [self.get32(COUNTED_AT + (system * ELEMENTS + row) * 4) for row in range(ELEMENTS)]

    def total(self) -> int:
        """All that was claimed on the first system."""
        return sum(self.claimed())

    def slot_at(self, slot: int) -> int:
        return CLAIMS_AT + slot * CLAIM_SIZE

    def states(self) -> list[int]:
        """The states of all slots."""
        return [self.get64(self.slot_at(slot)) for slot in range(SLOTS)]

    def claims(self) -> list[Claim]:
        """All complete claims by number; nothing is freed."""
        claims = []
        for slot, state in enumerate(self.states()):
            if state == 0 or state % 2:
                continue
            raw = self.read(self.slot_at(slot), CLAIM_SIZE)
            (_, device, inode, directory_device, directory_inode, epoch, digest, outcome, error, fd, dirfd,
             pid, length, system, row_count, rows, attempts, *began) = _CLAIM.unpack(raw[:120])  # fmt: skip
            need = np.frombuffer(raw[120:336], layout.NEED)
            seen = struct.unpack("=64H", raw[336:464])
            claims.append(
                Claim(
                    state // 2 - 1, device, inode, directory_device, directory_inode, epoch, digest, outcome,
                    error, fd, dirfd, pid, system, tuple(rows[:row_count]), attempts, *began, need, seen,
                    _text(raw[464:528]), raw[528 : 528 + length].decode(),
                )
            )  # fmt: skip
        return sorted(claims, key=lambda claim: claim.number)

    def take(self) -> list[Claim]:
        """All complete claims, whose slots are free from then on."""
        listed = self.claims()
        for claim in listed:
            self.put64(self.slot_at(claim.number % SLOTS), 0)
        return listed


class FakeTable(Segment):
    """The table of a node, made by root, and the claims of its users; removed by close()."""

    def __init__(self, socket: Path, *, mode: int = 0o644, size: int = SIZE, owner: int = 0) -> None:
        super().__init__(key_of(socket, 0), size, mode, owner)
        self.users: dict[int, FakeClaims] = {}
        self._stopped = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        if size >= SIZE:
            head = (MAGIC, VERSION, 4096, SIZE, fnv1a(str(socket)), 1, now_ms(), ALIVE, 0, 0, 0)
            self.write(0, _HEAD.pack(*head))
            self._beating.start()

    def _beat(self) -> None:
        """As far into the future as a program believes, so that a slow machine changes nothing."""
        while True:
            self.put64(HEARTBEAT_AT, now_ms() + 1900)
            if self._stopped.wait(0.2):
                return

    def stop_beating(self) -> None:
        self._stopped.set()
        if self._beating.ident:
            self._beating.join()

    def close(self) -> None:
        self.stop_beating()
        for claims in self.users.values():
            claims.close()
        super().close()

    def user(self, uid: int = 0, **fields: Any) -> FakeClaims:
        """Claims of a user, with a default need that asks for nothing."""
        claims = self.users[uid] = FakeClaims(uid, **fields)
        if claims.size >= CLAIMS_SIZE:
            claims.need(0)
        self.name(claims)
        return claims

    def name(self, claims: FakeClaims, place: int | None = None) -> None:
        """Say where the claims of their user lie."""
        count = self.get32(USERS_COUNT_AT)
        place = count if place is None else place
        self.write(USERS_AT + place * 16, struct.pack("=IiQ", claims.uid, claims.id, claims.instance))
        self.put32(USERS_COUNT_AT, max(count, place + 1))

    def mount(self, device: int, mount_point: str, system: int = 0) -> None:
        number = self.get32(MOUNTS_COUNT_AT)
        values = (os.major(device), os.minor(device), system, 0, mount_point.encode())
        self.write(MOUNTS_AT + number * MOUNT_SIZE, _MOUNT.pack(*values))
        self.put32(MOUNTS_COUNT_AT, number + 1)

    def system_at(self, system: int = 0) -> int:
        return SYSTEMS_AT + system * SYSTEM_SIZE

    def system(self, count: int, *, backend: int = MERGERFS, system: int = 0) -> None:
        """A system of so many equal, idle, empty elements with the policy as it is by default."""
        at = self.system_at(system)
        self.policy(system)[:] = ses_core.defaults()
        elements = ses_core.table(ELEMENTS)
        for name, value in {"read_rate": 1e8, "write_rate": 1e8, "size": 1e12, "free": 9e11}.items():
            elements[name] = value
        elements["busy"] = elements["busy_average"] = 0
        elements["server"] = np.arange(ELEMENTS)
        self.elements(system)[:] = elements
        self.put32(at + 4, backend)
        self.put32(at + COUNT_AT, count)
        self.number(range(count), count, system)
        self.put64(at + EPOCH_AT, 1000 + system)
        self.put32(at, 2)

    def place(
        self, row: int, element: str, *, branch: str = "", index: int = 0, form: int = 0, pool: str = "",
        members: Iterable[int] = (), system: int = 0,
    ) -> None:  # fmt: skip
        there = branch.encode() or sum(1 << ost for ost in members).to_bytes(384, "little")
        values = (index, form, element.encode(), pool.encode(), there)
        self.write(self.system_at(system) + PLACES_AT + row * _PLACE.size, _PLACE.pack(*values))

    def number(self, numbers: Iterable[int], total: int, system: int = 0) -> None:
        """Give the rows the numbers that their elements have in the site's own order, of so many in all."""
        at = self.system_at(system)
        self.put32(at + TOTAL_AT, total)
        for row, number in enumerate(numbers):
            self.put32(at + NUMBERS_AT + 4 * row, number)

    def elements(self, system: int = 0) -> Records:
        """The elements where they lie: what is changed here is changed for every program."""
        return _view(self, self.system_at(system) + ELEMENTS_AT, ELEMENTS, layout.ELEMENT)

    def policy(self, system: int = 0) -> Records:
        return _view(self, self.system_at(system) + POLICY_AT, 1, layout.POLICY)

    def exclude(self, rows: int, system: int = 0) -> None:
        self.put64(self.system_at(system) + EXCLUDED_AT, rows & _EVERY_ROW)

    def only(self, row: int, system: int = 0) -> None:
        """Leave nothing to choose but this row."""
        self.exclude(~(1 << row), system)

    @contextmanager
    def change(self, system: int = 0) -> Iterator[None]:
        """What is done within happens under the sequence."""
        at = self.system_at(system)
        self.put32(at, self.get32(at) + 1)
        yield
        self.put64(at + EPOCH_AT, self.get64(at + EPOCH_AT) + 1)
        self.put32(at, self.get32(at) + 1)

    def count(self, claims: FakeClaims, system: int = 0) -> None:
        """Take up what was claimed, as an agent does."""
        elements = self.elements(system)
        for row in range(ELEMENTS):
            at = (system * ELEMENTS + row) * 4
            claimed, counted = claims.get32(CLAIMED_AT + at), claims.get32(COUNTED_AT + at)
            elements["own"][row] += claimed - counted
            elements["last_placed"][row] = (
                elements["last_placed"].max() + 1 if claimed != counted else elements["last_placed"][row]
            )
            claims.put32(COUNTED_AT + at, claimed)


def table_of(union: Any, *users: int) -> FakeTable:
    """The table for a union's programs: its branches are the rows, and root has claims, or these USERS."""
    table = FakeTable(union.socket)
    table.mount(union.path.stat().st_dev, str(union.path))
    table.system(len(union.branches))
    for row, branch in enumerate(union.branches):
        table.place(row, f"union/b{row + 1}", branch=str(branch))
    for uid in users or (0,):
        table.user(uid)
        for row in range(len(union.branches)):
            union.agent.stages(row, uid)
    return table
