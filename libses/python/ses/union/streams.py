"""How many files are being written on each branch at this moment, as the processes of unions show it.

What the monitor sees is a second or two old: between two looks all files would go to the branch that was idle
then.  Every file that is open through the union is open in mergerfs, whoever opened it.  It is a stream while
it is written: in the last second, or by a thread that is in a call to write or to flush it.  An NFS server
keeps files open long after that.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from ses_client.unions import Union

_IDLE_SECONDS = 1.0
_WINDOW_SECONDS = 2.0  # over which the monitor averages, about
_KEPT_SECONDS = 30.0
_FIND_EVERY_SECONDS = 10.0
_LATEST = 0.3  # the part of the latest sample
_SAME_SECONDS = 0.1  # two moments so near are those of one sample, or of one look
_WRITABLE = 0o200  # of a descriptor in /proc


class Streams:
    """Looks again and again, and keeps what it saw for as long as the monitor's samples are old."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Counter[str]]] = deque()
        self._foreign: dict[str, tuple[float, float | None]] = {}
        self._processes: list[str] = []
        self._found_at = float("-inf")

    def look(self, union: Union) -> Counter[str]:
        """Return the streams of each branch, by any union; none where their processes cannot be looked at."""
        now = time.monotonic()
        if now - self._found_at > _FIND_EVERY_SECONDS:
            self._found_at, self._processes = now, _union_processes()
        counts: Counter[str] = Counter()
        paths = sorted((branch.path for branch in union.branches), key=len, reverse=True)
        for process in self._processes:
            with suppress(OSError):
                counts.update(_branches_written(process, paths))
        if not self._seen or now - self._seen[-1][0] > _SAME_SECONDS:  # looks after creates are not typical
            self._seen.append((now, counts))
        while now - self._seen[0][0] > _KEPT_SECONDS:
            self._seen.popleft()
        return counts

    def foreign(self, branch: str, streams: float, sampled: float) -> float:
        """Return how many streams there are on a branch besides those of unions.

        ``streams`` are all that a sample of that moment shows, those of unions among them.  What is left
        is uncertain by about one, so that several samples count.
        """
        before, value = self._foreign.get(branch, (float("-inf"), None))
        if sampled <= before + _SAME_SECONDS and value is not None:
            return value
        during = [counts[branch] for at, counts in self._seen if sampled - _WINDOW_SECONDS <= at <= sampled]
        left = max(0.0, streams - (fmean(during) if during else 0.0))
        value = left if value is None else value + _LATEST * (left - value)
        self._foreign[branch] = sampled, value
        return value


def _union_processes() -> list[str]:
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_bytes() == b"mergerfs\n":
                processes.append(str(process))
    return processes


def _branches_written(process: str, paths: Sequence[str]) -> Iterator[str]:
    """Return the branch of each file that the process writes; the longest of ``paths`` come first."""
    called: set[str] | None = None
    with os.scandir(f"{process}/fd") as files:
        for file in files:
            with suppress(OSError):
                target = os.readlink(file.path)  # noqa: PTH115 (it is done hundreds of times in a second)
                branch = next((path for path in paths if target.startswith(f"{path}/")), "")
                if not branch or not file.stat(follow_symlinks=False).st_mode & _WRITABLE:
                    continue
                if time.time() - file.stat().st_mtime >= _IDLE_SECONDS:
                    called = _files_in_calls(process) if called is None else called
                    if file.name not in called:
                        continue
                yield branch


def _files_in_calls(process: str) -> set[str]:
    """Return the numbers that threads gave as first argument of the system call they are in."""
    numbers = set()
    for thread in Path(f"{process}/task").iterdir():
        with suppress(OSError, ValueError, IndexError):
            numbers.add(str(int((thread / "syscall").read_bytes().split()[1], 16)))
    return numbers
