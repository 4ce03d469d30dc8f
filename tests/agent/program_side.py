"""The program's side of ses/protocol.h: ask, read the answer, report."""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from patience import PATIENCE, SOON

MAGIC, VERSION = 0x51534553, 1
ASK, ANSWER, REPORT = 1, 2, 3
PLACE, NOT_MANAGED, UNAVAILABLE = 1, 2, 3
CREATED, NOT_CREATED = 1, 2
MERGERFS, LUSTRE = 1, 2
CURRENT_READ, AVERAGE_READ, CURRENT_WRITE, AVERAGE_WRITE, CAPACITY = 1, 2, 3, 4, 5

HEADER = struct.Struct("=IHHII")
_ASK = struct.Struct("=IHHII II q Q II 64s 16s IIII" + "IIdd" * 8)
_ANSWER = struct.Struct("=IHHII Q d Q IIII 96s 640s")
_STAGES = struct.Struct("=320s 320s")
_LUSTRE = struct.Struct("=II 16s 14H 4x 384s 200x")
_REPORT = struct.Struct("=IHHII Q QQ I i i I")


def _text(raw: bytes) -> str:
    return raw[: raw.index(b"\0")].decode()


@dataclass(frozen=True)
class Requirement:
    """One requirement of an API call."""

    kind: int
    minimum: float
    weight: float = 1.0
    hard: bool = False


@dataclass(frozen=True)
class Answer:
    placement: str
    distance: float
    stripe_size: int
    stripe_count: int
    status: int
    backend: int
    least_free_mib: int
    element: str
    stage: Path
    stage_in_union: Path
    lustre_form: int
    osts: tuple[int, ...]
    pool: str
    members: tuple[int, ...]  # of the pool


def ask_message(
    device: int,
    application: str = "",
    *,
    expected_bytes: int = -1,
    stripe_size: int = 0,
    stripe_count: int = 0,
    pool: str = "",
    requirements: tuple[Requirement, ...] = (),
    rank: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> bytes:
    numbers: list[float] = []
    for requirement in (*requirements, *[Requirement(0, 0.0, 0.0)] * (8 - len(requirements))):
        numbers += [requirement.kind, requirement.hard, requirement.minimum, requirement.weight]
    return _ASK.pack(
        *(MAGIC, VERSION, ASK, _ASK.size, 0),
        *(os.major(device), os.minor(device), expected_bytes, stripe_size, stripe_count, len(requirements)),
        *(application.encode(), pool.encode(), *rank),
        *numbers,
    )


def indexes_in(bits: bytes) -> tuple[int, ...]:
    """The OSTs of a set of them."""
    return tuple(index for index in range(8 * len(bits)) if bits[index // 8] >> index % 8 & 1)


def parse_answer(raw: bytes) -> Answer:
    assert len(raw) == _ANSWER.size, f"an answer of {len(raw)} bytes"
    magic, version, kind, size, _, placement, distance, stripe_size, *rest = _ANSWER.unpack(raw)
    assert (magic, version, kind, size) == (MAGIC, VERSION, ANSWER, _ANSWER.size)
    stripe_count, status, backend, least_free_mib, element, place = rest
    on_lustre = _LUSTRE.unpack(place) if backend == LUSTRE else (0, 0, b"\0", b"")
    form, osts, pool, *indexes, members = on_lustre
    stage, in_union = _STAGES.unpack(place) if backend == MERGERFS else (b"\0", b"\0")
    return Answer(
        *(f"{placement:016x}", distance, stripe_size, stripe_count, status, backend, least_free_mib),
        *(_text(element), Path(_text(stage)), Path(_text(in_union))),
        *(form, tuple(indexes[:osts]), _text(pool), indexes_in(members)),
    )


def report_message(
    placement: str, outcome: int, device: int = 0, inode: int = 0, *, fd: int = -1, error: int = 0
) -> bytes:
    header = (MAGIC, VERSION, REPORT, _REPORT.size, 0)
    return _REPORT.pack(*header, int(placement, 16), device, inode, outcome, error, fd, 0)


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(PATIENCE)
    connection.connect(str(path))
    return connection


def _ask(path: Path, message: bytes) -> tuple[socket.socket, bytes]:
    """The connection and the answer.

    The agent hangs up on who says nothing for a second: who had to wait so long to say it asks again.
    """
    while True:
        begun = time.monotonic()
        connection = connect(path)
        try:
            try:
                connection.send(message)
            finally:
                is_late = time.monotonic() - begun > SOON
            answer = connection.recv(4096)
        except ConnectionError:
            if not is_late:
                raise
            answer = b""
        if answer or not is_late:
            return connection, answer
        connection.close()


class Conversation:
    """One question, from the ask to the report; closing early means "not used"."""

    def __init__(self, path: Path, message: bytes) -> None:
        self._connection, answer = _ask(path, message)
        self.answer = parse_answer(answer)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def report(
        self,
        outcome: int,
        *,
        status: os.stat_result | None = None,
        fd: int = -1,
        error: int = 0,
        placement: str | None = None,
        descriptors: tuple[int, ...] = (),
    ) -> None:
        device, inode = (status.st_dev, status.st_ino) if status else (0, 0)
        message = report_message(
            placement or self.answer.placement, outcome, device, inode, fd=fd, error=error
        )
        socket.send_fds(self._connection, [message], descriptors)

    def wait_for_end(self) -> None:
        """Wait until the agent has taken the report in: it hangs up then."""
        assert self._connection.recv(1) == b""

    def create(self, path: Path) -> int:
        """Create `path` as the library would, report it with a handle and return the open descriptor."""
        stage = self.answer.stage / path.name
        os.close(os.open(stage, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.link(self.answer.stage_in_union / path.name, path)
        stage.unlink()
        fd = os.open(path, os.O_RDWR)
        handle = os.open(path, os.O_PATH)
        self.report(CREATED, status=os.fstat(fd), fd=fd, descriptors=(handle,))
        os.close(handle)
        self.close()
        return fd
