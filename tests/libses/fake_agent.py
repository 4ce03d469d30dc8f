"""A fake ses-agent that speaks ses/protocol.h and does as a test tells it.

It keeps what it saw (connections, questions, reports) and makes the staging directories as the real one
does.  It decides nothing: the branch of each answer comes from `choose`.
"""

import fcntl
import os
import queue
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

MAGIC, VERSION = 0x51534553, 1
ASK, ANSWER, REPORT = 1, 2, 3
PLACE, NOT_MANAGED, UNAVAILABLE = 1, 2, 3
CREATED, NOT_CREATED = 1, 2
MERGERFS, LUSTRE = 1, 2

_HEADER = struct.Struct("=IHHII")
_ASK = struct.Struct("=IHHII II q Q II 64s 16s IIII" + "IIdd" * 8)
_ANSWER = struct.Struct("=IHHII Q d Q IIII 96s 640s")
_STAGES = struct.Struct("=320s 320s")
_LUSTRE = struct.Struct("=II 16s 14H 4x 384s 200x")
_REPORT = struct.Struct("=IHHII Q QQ I i i I")
_CREDENTIALS = struct.Struct("=iII")

ASK_BYTES = _ASK.size
PATIENCE = 60.0  # seconds, which only a hang uses up


@dataclass(frozen=True)
class Ask:
    pid: int
    uid: int
    device: int
    expected_bytes: int
    application: str
    pool: str
    requirements: tuple[tuple[int, bool, float, float], ...]
    stripe_size: int
    stripe_count: int
    rank: tuple[int, int, int, int]


@dataclass(frozen=True)
class Report:
    pid: int
    placement_id: int
    device: int
    inode: int
    outcome: int
    error: int
    fd: int
    handle: "Handle | None"


@dataclass(frozen=True)
class Handle:
    """What the descriptor that came with a report refers to."""

    device: int
    inode: int
    path: str
    path_only: bool

    @classmethod
    def of(cls, fd: int) -> "Handle | None":
        try:
            status = os.fstat(fd)
        except OSError:  # the file is gone already
            return None
        path_only = bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_PATH)
        return cls(status.st_dev, status.st_ino, str(Path(f"/proc/self/fd/{fd}").readlink()), path_only)


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode()


def bits_of(members: Iterable[int]) -> bytes:
    """The set of a pool's OSTs, as in an answer and in the table."""
    return sum(1 << ost for ost in members).to_bytes(384, "little")


def answer(
    *,
    placement_id: int,
    stage: str = "",
    stage_in_union: str = "",
    status: int = PLACE,
    element: str = "union/b1",
    distance: float = 0.0,
    backend: int = MERGERFS,
    version: int = VERSION,
    magic: int = MAGIC,
    kind: int = ANSWER,
    size: int = _ANSWER.size,
    least_free_mib: int = 0,
    stripe_size: int = 0,
    stripe_count: int = 0,
    form: int = 0,
    osts: tuple[int, ...] = (),
    ost_count: int | None = None,
    pool: str = "",
    members: tuple[int, ...] = (),
) -> bytes:
    """The bytes of one answer; every field can be given a wrong value."""
    if backend == LUSTRE:
        listed = len(osts) if ost_count is None else ost_count
        indexes = (*osts, *[0] * (14 - len(osts)))
        place = _LUSTRE.pack(form, listed, pool.encode(), *indexes, bits_of(members))
    else:
        place = _STAGES.pack(stage.encode(), stage_in_union.encode())
    return _ANSWER.pack(
        magic, version, kind, size, 0, placement_id, distance, stripe_size, stripe_count, status, backend,
        least_free_mib, element.encode(), place,
    )  # fmt: skip


def header_of(kind: int, size: int) -> bytes:
    return _HEADER.pack(MAGIC, VERSION, kind, size, 0)


def _peer(connection: socket.socket) -> tuple[int, int]:
    """The process and user at the other end."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid


class FakeAgent:
    """Listens until closed, in one thread: reports are in the order in which they were sent."""

    def __init__(self, path: Path, union: Path, branches: list[Path]) -> None:
        self.path, self.union, self.branches = path, union, branches
        self.asks: list[Ask] = []
        self.reports: list[Report] = []
        self.connections = 0
        self.unused = 0  # placements answered and never reported
        # The branch (from 0) of the answer to question NUMBER (from 1).
        self.choose: Callable[[int], int] = lambda _: 0
        # What to send for an ask: bytes; None hangs until the fake is closed; b"" hangs up at once.
        self.reply: Callable[[Ask, int], bytes | None] = self.place
        self._lock = threading.Lock()
        self._open: dict[socket.socket, Ask | None] = {}  # by what was asked on it
        self._hung: list[socket.socket] = []
        self._waiting: dict[threading.Event, set[socket.socket]] = {}  # by what must be over first
        self._to_wait: queue.SimpleQueue[tuple[threading.Event, bool]] = queue.SimpleQueue()  # the last one?
        self._broken: BaseException | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        path.chmod(0o666)
        self._listener.listen(512)
        self._listener.setblocking(False)
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def place(self, ask: Ask, number: int, **fields: object) -> bytes:
        """The answer that places the file on the branch `choose` names."""
        if ask.device != self.union.stat().st_dev:
            return answer(placement_id=0, status=NOT_MANAGED)
        index = self.choose(number)
        stages = self.stages(index, ask.uid)
        given: dict[str, object] = {
            "placement_id": (os.getpid() << 32) + number,
            "element": f"union/b{index + 1}",
            "stage": str(stages[0]),
            "stage_in_union": str(stages[1]),
        }
        return answer(**{**given, **fields})  # type: ignore[arg-type]

    def stages(self, index: int, uid: int) -> tuple[Path, Path]:
        top = self.branches[index] / ".ses"
        with self._lock:
            if not (top / str(uid)).exists():
                top.mkdir(exist_ok=True)
                top.chmod(0o711)
                own = top / str(uid)
                own.mkdir()
                own.chmod(0o700)
                os.chown(own, uid, -1)
        return top / str(uid), self.union / ".ses" / str(uid)

    def leftovers(self) -> list[Path]:
        """Staged files on any branch."""
        return [path for branch in self.branches for path in branch.glob(".ses/*/*")]

    def _serve(self) -> None:
        """Everything in the order in which it came: what was said before a connection is read before it."""
        closing = False
        while not closing or self._open or self._waiting:
            woken = self._woken in [key.fileobj for key, _ in self._selector.select()]
            begun = self._accept()
            if woken:
                self._woken.recv(1)
                over, closing = self._to_wait.get()
                self._waiting[over] = {*self._open, *begun}
            for connection in list(self._open):
                self._go_on(connection)
            for connection in begun:
                self._open[connection] = None
                self._selector.register(connection, selectors.EVENT_READ)
            for over in [over for over, before in self._waiting.items() if not before & self._open.keys()]:
                del self._waiting[over]
                over.set()

    def _accept(self) -> list[socket.socket]:
        """The connections of programs that have come."""
        begun: list[socket.socket] = []
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return begun
            connection.setblocking(False)
            self.connections += 1
            begun.append(connection)

    def _go_on(self, connection: socket.socket) -> None:
        try:
            raw, descriptors, _, _ = socket.recv_fds(connection, 4096, 8)
        except BlockingIOError:
            return
        except OSError:
            raw, descriptors = b"", []
        handles = [Handle.of(fd) for fd in descriptors]
        for fd in descriptors:
            os.close(fd)
        ask = self._open[connection]
        try:
            goes_on = self._asked(connection, raw) if ask is None else self._reported(ask, raw, handles)
        except BaseException as error:  # the test hears of it
            self._broken, goes_on = error, False
        if not goes_on:
            del self._open[connection]
            self._selector.unregister(connection)
            if connection not in self._hung:
                connection.close()

    def _asked(self, connection: socket.socket, raw: bytes) -> bool:
        """Answer a question; true when a report may follow."""
        if len(raw) != _ASK.size:
            return False
        pid, uid = _peer(connection)
        magic, version, kind, size, _, *question = _ASK.unpack(raw)
        major, minor, expected, stripe_size, stripes, count, name, pool, *rest = question
        rank, rest = tuple(rest[:4]), rest[4:]
        assert (magic, version, kind, size) == (MAGIC, VERSION, ASK, _ASK.size)
        requirements = tuple(
            (rest[i * 4], bool(rest[i * 4 + 1]), rest[i * 4 + 2], rest[i * 4 + 3]) for i in range(count)
        )
        device = os.makedev(major, minor)
        names = (_text(name), _text(pool))
        ask = Ask(pid, uid, device, expected, *names, requirements, stripe_size, stripes, rank)
        self.asks.append(ask)
        reply = self.reply(ask, len(self.asks))
        if reply is None:
            self._hung.append(connection)
        if not reply:
            return False
        self._open[connection] = ask
        try:
            connection.send(reply)
        except OSError:  # the program did not wait for it
            self.unused += 1
            return False
        return True

    def _reported(self, ask: Ask, raw: bytes, handles: list[Handle | None]) -> bool:
        assert len(handles) <= 1
        if len(raw) != _REPORT.size:
            self.unused += 1
            return False
        magic, version, kind, size, _, placement, device, inode, outcome, error, fd, _ = _REPORT.unpack(raw)
        assert (magic, version, kind, size) == (MAGIC, VERSION, REPORT, _REPORT.size)
        handle = handles[0] if handles else None
        self.reports.append(Report(ask.pid, placement, device, inode, outcome, error, fd, handle))
        return False

    def is_waited_for(self) -> bool:
        """Has somebody begun to wait for the end of conversations, and it has not come to it?"""
        return not self._to_wait.empty()

    def settle(self) -> None:
        """Wait until every conversation is over that programs have begun, but for those that it lets hang."""
        self._settle(closing=False)

    def _settle(self, *, closing: bool) -> None:
        over = threading.Event()
        self._to_wait.put((over, closing))
        self._wake.send(b"x")
        assert over.wait(PATIENCE), "a conversation did not end"
        if self._broken:
            raise self._broken

    def close(self) -> None:
        try:
            self._settle(closing=True)
        finally:
            self._serving.join(PATIENCE)
            for resource in (self._selector, self._listener, self._wake, self._woken, *self._hung):
                resource.close()
