"""Whose bytes they were: from looks at a program to bytes and order of access of each file.  Pure.

The kernel says how much each process moved, and where each of its descriptors stands; not which bytes
belong to which file.  A descriptor whose position advanced moved that much.  What is left belongs to the
one file whose position jumped, that is read or written at given offsets (pread), that was closed since the
last look, or that just stays open: the first of these that there is, if it is a single file; else to none.
Where no file of the first three kinds is there but an endless device (/dev/zero, /dev/null) is open, it
belongs to that.  Where no file is there but those whose position advanced, and a pipe is open, it went
through the pipe; where one of random numbers is open, which many programs keep open, it came from that.

Of a process that opens one file after another, or starts one process after another, most may be open for
less than the time between two looks.  One of them that a single look saw gets at most as much again as it had
moved until then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ses.profiling.proc import ENDLESS_SINK, RANDOM_SOURCES, Look, Moved, OpenFile, ProcessLook
from ses.profiling.result import RANDOM, SEQUENTIAL, UNKNOWN, FileUse

_SLACK = 65536
"""Bytes by which a position may advance beyond what was moved: of a line read ahead, say."""


@dataclass
class _File:
    moved: list[int] = field(default_factory=lambda: [0, 0])
    steps: int = 0
    jumps: int = 0
    offset: int | None = None

    @property
    def pattern(self) -> str:
        if not self.steps:
            return UNKNOWN
        return RANDOM if self.jumps > max(1, self.steps // 10) else SEQUENTIAL


class Attribution:
    """Adds up looks of one program, in the order of their times."""

    def __init__(self, inherited: Mapping[int, str] | None = None) -> None:
        """Begin; ``inherited``: descriptors it was started with, as its output; they get no rest."""
        self._descriptors = inherited or {}
        self._inherited = frozenset(self._descriptors.values())
        self._files: dict[str, _File] = {}
        self._last: dict[int, ProcessLook] = {}
        self._streams: tuple[list[int], list[int]] = ([], [])
        self._endless = [0, 0]
        self._piped = [0, 0]
        self._paths: dict[tuple[int, int], str] = {}
        self._one_after_another: set[tuple[int, int]] = set()
        self._young: dict[int, set[str]] = {}
        self._parents: set[int] = set()
        self.max_open = 0
        self.most_processes = 0

    def add(self, look: Look) -> None:
        """Take up the next look."""
        self.most_processes = max(self.most_processes, len(look.processes))
        self.max_open = max(self.max_open, sum(len(process.files) for process in look.processes.values()))
        before_all = {path: tuple(file.moved) for path, file in self._files.items()}
        gone = [(pid, process) for pid, process in self._last.items() if pid not in look.processes]
        for pid, now in look.processes.items():
            self._add_process(pid, now, gone)
        self._last = look.processes
        for way in (0, 1):
            moving = sum(
                file.moved[way] - before_all.get(path, (0, 0))[way] > _SLACK
                for path, file in self._files.items()
            )
            if moving:
                self._streams[way].append(moving)

    @property
    def endless(self) -> tuple[int, int]:
        """How many bytes were read from endless devices, and written to them."""
        read, written = self._endless
        return read, written

    @property
    def piped(self) -> int:
        """How many bytes went through pipes between the processes: were written by one and read by another.

        Small files that are open for less than the time between two looks may count on one side only.
        """
        return min(self._piped)

    @property
    def no_storage(self) -> tuple[int, int]:
        """How many of the bytes read, and written, are none of storage."""
        read, written = self._endless
        return read + self.piped, written + self.piped

    def streams(self) -> tuple[float, float]:
        """Return how many files were read, and written, at the same time, on average while any was."""
        read, written = (sum(counts) / len(counts) if counts else 1.0 for counts in self._streams)
        return read, written

    def files(self) -> tuple[FileUse, ...]:
        """Return the files that moved, the largest first."""
        uses = [
            FileUse(path, file.moved[0], file.moved[1], file.pattern)
            for path, file in self._files.items()
            if sum(file.moved)
        ]
        return tuple(sorted(uses, key=lambda file: (-file.read_bytes - file.written_bytes, file.path)))

    def _add_process(self, pid: int, now: ProcessLook, gone: list[tuple[int, ProcessLook]]) -> None:
        before = self._last.get(pid, ProcessLook(Moved(), 0.0, {}))
        left = [now.moved[way] - before.moved[way] for way in (0, 1)]
        ended = [file for fd, file in before.files.items() if _is_gone(fd, now, file)]
        passing = self._passing(pid, before, now)
        endless = {*self._endless_ways(before), *self._endless_ways(now)}
        random = self._reads_random(before) or self._reads_random(now)
        piped = {*self._piped_ways(before), *self._piped_ways(now)}
        for number, child in [*gone]:  # a child that was waited for has its bytes in its parent's
            counted = child.moved[:2]
            if any(counted) and all(more >= less for more, less in zip(left, counted, strict=True)):
                left = [more - less for more, less in zip(left, counted, strict=True)]
                ended += child.files.values()
                if pid in self._parents:
                    passing |= self._young.get(number, set())
                self._parents.add(pid)
                random = random or self._reads_random(child)
                endless |= {*self._endless_ways(child)}
                piped |= {*self._piped_ways(child)}
                gone.remove((number, child))
        jumped = [file for fd, file in now.files.items() if self._advance(fd, file, before, left)]
        at_offset = []
        if now.offset is not None and now.offset[0] in now.files:
            at_offset = [now.files[now.offset[0]]]
            self._at_offset(at_offset[0].path, now.offset[1])
        streams = now.streams - self._inherited - {"/dev/null"}
        standing = [file for fd, file in now.files.items() if before.files.get(fd) == file and not streams]
        still = [
            file
            for fd, file in now.files.items()
            if file.position == _start(fd, file, before) and file.path not in self._inherited
        ]
        for way in (0, 1):
            files = (jumped, at_offset, ended)
            taken = any(way in _ways(file) for several in files for file in several)
            if way in endless and not taken:
                self._endless[way] += max(0, left[way])
            elif taken or any(way in _ways(file) for file in still):
                self._rest(way, left[way], (*files, standing), passing)
            elif way in piped:
                self._piped[way] += max(0, left[way])
            elif random and way == 0:
                self._endless[way] += max(0, left[way])

    def _passing(self, pid: int, before: ProcessLook, now: ProcessLook) -> set[str]:
        """Return the files that one look saw, and that were closed since to open others."""
        fresh = {fd for fd, file in now.files.items() if _is_gone(fd, before, file)}
        for fd, file in now.files.items():
            if self._paths.setdefault((pid, fd), file.path) != file.path:
                self._one_after_another.add((pid, fd))
        young = self._young.get(pid, set())
        self._young[pid] = {now.files[fd].path for fd in fresh}
        return {
            file.path
            for fd, file in before.files.items()
            if _is_gone(fd, now, file)
            and file.path in young
            and (fresh or (pid, fd) in self._one_after_another)
        }

    def _endless_ways(self, look: ProcessLook) -> Iterator[int]:
        """Yield 0 where /dev/zero is open to be read, 1 where /dev/null is to be written."""
        for fd, file in look.endless.items():
            if self._descriptors.get(fd) != file.path and file.path not in RANDOM_SOURCES:
                yield 1 if file.path == ENDLESS_SINK else 0

    def _reads_random(self, look: ProcessLook) -> bool:
        return any(
            file.path in RANDOM_SOURCES and self._descriptors.get(fd) != file.path
            for fd, file in look.endless.items()
        )

    def _piped_ways(self, look: ProcessLook) -> Iterator[int]:
        """Yield 0 where a pipe can be read that the program was not started with, 1 where one is written."""
        for pipe in look.pipes.values():
            if pipe.path not in self._inherited:
                yield from _ways(pipe)

    def _advance(self, fd: int, file: OpenFile, before: ProcessLook, left: list[int]) -> bool:
        """Count by how much its position advanced; return whether it jumped instead."""
        step = file.position - _start(fd, file, before)
        if step == 0:
            return False
        known = self._files.setdefault(file.path, _File())
        known.steps += 1
        way = max(_ways(file), key=lambda each: left[each])
        if step < 0 or step > left[way] + _SLACK:
            known.jumps += 1
            return True
        moved = min(step, max(0, left[way]))
        known.moved[way] += moved
        left[way] -= moved
        return False

    def _at_offset(self, path: str, offset: int) -> None:
        known = self._files.setdefault(path, _File())
        if known.offset is not None and offset != known.offset:
            known.steps += 1
            known.jumps += offset < known.offset
        known.offset = offset

    def _rest(
        self, way: int, left: int, ranked: Iterable[Iterable[OpenFile]], passing: Collection[str]
    ) -> None:
        if left <= 0:
            return
        for several in ranked:
            able = {
                file.path: file for file in several if way in _ways(file) and file.path not in self._inherited
            }
            if not able:
                continue
            if len(able) == 1:
                path, _ = able.popitem()
                known = self._files.setdefault(path, _File())
                known.moved[way] += min(left, known.moved[way]) if path in passing else left
            break


def _start(fd: int, file: OpenFile, before: ProcessLook) -> int:
    """Return where the position of a file was at the last look."""
    last = before.files.get(fd)
    return last.position if last is not None and last.path == file.path else 0


def _ways(file: OpenFile) -> Iterator[int]:
    """Yield 0 for a descriptor that reads, 1 for one that writes."""
    if file.reads:
        yield 0
    if file.writes:
        yield 1


def _is_gone(fd: int, now: ProcessLook, file: OpenFile) -> bool:
    return fd not in now.files or now.files[fd].path != file.path
