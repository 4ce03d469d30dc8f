"""How many files are being written on each branch at this moment, as the processes of unions show it.

What the monitor sees is a second or two old: between two looks all files would go to the branch that was idle
then.  Every file that is open through the union is open in mergerfs, whoever opened it.  One in which nothing
has been written for ten seconds is no stream.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from ses_client.unions import Union

_IDLE_SECONDS = 10.0  # also while a file is only flushed
_WINDOW_SECONDS = 2.0  # over which the monitor averages, about
_KEPT_SECONDS = 30.0
_FIND_EVERY_SECONDS = 10.0
_LATEST = 0.3  # the part of the latest sample
_SAME_SECONDS = 0.1  # two moments so near are those of one sample


class Streams:
    """Looks again and again, and keeps what it saw for as long as the monitor's samples are old."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Counter[str]]] = deque()
        self._foreign: dict[str, tuple[float, float | None]] = {}
        self._processes: list[Path] = []
        self._found_at = float("-inf")

    def look(self, union: Union) -> Counter[str]:
        """Return the streams of each branch, by any union; none where their processes cannot be looked at."""
        now = time.monotonic()
        if now - self._found_at > _FIND_EVERY_SECONDS:
            self._found_at, self._processes = now, _union_processes()
        counts: Counter[str] = Counter()
        paths = sorted((branch.path for branch in union.branches), key=len, reverse=True)
        for file in _open_files(self._processes):
            with suppress(OSError):
                target = str(file.readlink())
                branch = next((path for path in paths if target.startswith(f"{path}/")), "")
                if branch and time.time() - file.stat().st_mtime < _IDLE_SECONDS:
                    counts[branch] += 1
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


def _union_processes() -> list[Path]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_bytes() == b"mergerfs\n":
                found.append(process)
    return found


def _open_files(processes: Sequence[Path]) -> Iterator[Path]:
    for process in processes:
        with suppress(OSError):
            yield from (process / "fd").iterdir()
