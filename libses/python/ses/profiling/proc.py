"""What /proc shows of a tree of processes: bytes moved, processor time, open files and their positions.

Asks no file system: names and positions come from the kernel's own tables, so that a hung mount holds
nobody up.  What cannot be read (a process that ended, or that another user runs) is left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import add
from typing import NamedTuple

_TICK = os.sysconf("SC_CLK_TCK")
ENDLESS_SOURCE, ENDLESS_SINK = "/dev/zero", "/dev/null"
RANDOM_SOURCES = frozenset({"/dev/urandom", "/dev/random"})
_ENDLESS = frozenset({ENDLESS_SOURCE, ENDLESS_SINK, *RANDOM_SOURCES})
_STANDARD_ERROR = 2
_NOT_FILES = ("/dev/", "/proc/", "/sys/", "/memfd:", "/anon_hugepage")
_FILES = "/dev/shm/"
_PIPE = "pipe:["
# Numbers of pread64 and pwrite64
_AT_OFFSET = {"x86_64": {"17", "18"}, "aarch64": {"67", "68"}}.get(os.uname().machine, set[str]())


class Moved(NamedTuple):
    """Bytes and calls of a process and the children it has waited for, from /proc/PID/io."""

    read_bytes: int = 0
    written_bytes: int = 0
    read_calls: int = 0
    write_calls: int = 0
    device_read_bytes: int = 0
    device_written_bytes: int = 0

    def plus(self, other: Moved) -> Moved:
        """Return the sum of both."""
        return Moved(*map(add, self, other))

    def without(self, read: int, written: int) -> Moved:
        """Return the same without the bytes given, which were read and written."""
        left = max(0, self.read_bytes - read), max(0, self.written_bytes - written)
        return Moved(*left, *self[2:])


@dataclass(frozen=True, slots=True)
class OpenFile:
    """One descriptor of a regular file or device; ``flags`` as open(2) takes them."""

    path: str
    position: int
    flags: int

    @property
    def reads(self) -> bool:
        """It can be read by this descriptor."""
        return self.flags & os.O_ACCMODE != os.O_WRONLY

    @property
    def writes(self) -> bool:
        """It can be written by this descriptor."""
        return self.flags & os.O_ACCMODE != os.O_RDONLY


@dataclass(frozen=True, slots=True)
class ProcessLook:
    """One process at one moment.

    ``streams``: what is open and no regular file; ``endless``: those of them that give or take any number of
    bytes (/dev/zero and random ones that can be read, /dev/null that can be written), but for standard error;
    ``pipes``: those that are pipes.
    ``offset``: the descriptor and the offset of a pread or pwrite that had not ended.  ``command``: the name
    that the kernel has of its program, of 15 bytes at most.
    """

    moved: Moved
    cpu_seconds: float
    files: dict[int, OpenFile]
    streams: frozenset[str] = frozenset()
    endless: dict[int, OpenFile] = field(default_factory=dict)
    offset: tuple[int, int] | None = None
    pipes: dict[int, OpenFile] = field(default_factory=dict)
    command: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """A tree of processes at one moment (seconds of the monotonic clock), by process id."""

    at: float
    processes: dict[int, ProcessLook]


def parse_io(text: str) -> Moved:
    """Return the counters of /proc/PID/io; raises ValueError when it is not as expected."""
    counters = dict(line.split(": ", 1) for line in text.splitlines())
    names = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")
    try:
        return Moved(*(int(counters[name]) for name in names))
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None


def parse_stat(text: str) -> float:
    """Return processor seconds of a process and the children it waited for, from /proc/PID/stat."""
    fields = text.rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / _TICK


def parse_descriptor(path: str, text: str) -> OpenFile:
    """Return a descriptor from its link and /proc/PID/fdinfo/FD; raises ValueError."""
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    try:
        return OpenFile(path.removesuffix(" (deleted)"), int(fields["pos"]), int(fields["flags"], 8))
    except KeyError as error:
        raise ValueError(f"{error} is missing") from None


def parse_call(text: str) -> tuple[int, int] | None:
    """Return descriptor and offset of a pread or pwrite in /proc/PID/syscall, else None."""
    fields = text.split()
    if len(fields) < 5 or fields[0] not in _AT_OFFSET:
        return None
    return int(fields[1], 16), int(fields[4], 16)


def moved_by(pid: int) -> Moved:
    """Return what a process moved so far, also when it has ended and nobody waited for it yet."""
    try:
        return parse_io(_read(f"/proc/{pid}/io"))
    except (OSError, ValueError):
        return Moved()


def look_at(root: int) -> Look:
    """Look at a process and all its descendants."""
    processes = {pid: process for pid in _tree(root) if (process := _process(pid)) is not None}
    return Look(time.monotonic(), processes)


def running_on(look: Look, ended: int) -> list[ProcessLook]:
    """Look again at those processes that go on after the first one, ``ended``, has ended."""
    pids = (_process(pid) for pid in look.processes if pid != ended and _runs(pid))
    return [pid for pid in pids if pid is not None]


def _runs(pid: int) -> bool:
    try:
        return _read(f"/proc/{pid}/stat").rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 65536).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _names(directory: str) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _tree(root: int) -> Iterator[int]:
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        try:
            tasks = _names(f"/proc/{pid}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                waiting += map(int, _read(f"/proc/{pid}/task/{task}/children").split())
            except OSError:
                continue


def _process(pid: int) -> ProcessLook | None:
    try:
        stat = _read(f"/proc/{pid}/stat")
        cpu, command = parse_stat(stat), stat.partition("(")[2].rpartition(")")[0]
        moved = parse_io(_read(f"/proc/{pid}/io"))
    except (OSError, ValueError):
        return None
    files: dict[int, OpenFile] = {}
    streams: set[str] = set()
    endless: dict[int, OpenFile] = {}
    pipes: dict[int, OpenFile] = {}
    try:
        numbers = _names(f"/proc/{pid}/fd")
    except OSError:
        numbers = []
    for number in numbers:
        try:
            path = os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115 (twice as fast)
            if not path.startswith("/") or (path.startswith(_NOT_FILES) and not path.startswith(_FILES)):
                streams.add(path)
                if path in _ENDLESS and int(number) != _STANDARD_ERROR:
                    file = parse_descriptor(path, _read(f"/proc/{pid}/fdinfo/{number}"))
                    if file.writes if path == ENDLESS_SINK else file.reads:
                        endless[int(number)] = file
                elif path.startswith(_PIPE):
                    pipes[int(number)] = parse_descriptor(path, _read(f"/proc/{pid}/fdinfo/{number}"))
                continue
            file = parse_descriptor(path, _read(f"/proc/{pid}/fdinfo/{number}"))
            if not file.flags & os.O_DIRECTORY:
                files[int(number)] = file
        except (OSError, ValueError):
            continue
    try:
        offset = parse_call(_read(f"/proc/{pid}/syscall"))
    except (OSError, ValueError):
        offset = None
    return ProcessLook(moved, cpu, files, frozenset(streams), endless, offset, pipes, command)
