"""How many files are being written on each branch at this moment, as the processes of unions show it.

What the monitor sees is a second or two old: between two looks all files would go to the branch that was idle
then.  Every file that is open through the union is open in mergerfs, whoever opened it.  One in which nothing
has been written for three seconds is no stream, as everywhere.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from ses_client.unions import Union

_IDLE_SECONDS = 3.0
_WINDOW_SECONDS = 2.0  # over which the monitor averages, about
_KEPT_SECONDS = 30.0
_FIND_EVERY_SECONDS = 10.0


class Streams:
    """Looks again and again, and keeps what it saw for as long as the monitor's samples are old."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Counter[str]]] = deque()
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

    def then(self, branch: str, age: float) -> float:
        """Return how many there were on a branch when a sample of that age was taken, on average."""
        end = time.monotonic() - age
        during = [counts[branch] for at, counts in self._seen if end - _WINDOW_SECONDS <= at <= end]
        return fmean(during) if during else 0.0


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


def rate_now(seen: float, nominal: float, then: float, now: int) -> float:
    """Return what a further stream gets; ``seen`` was with ``then`` streams of unions, which are ``now``.

    The rule's share, ``nominal / (n + 1)``: what of n was not the union's is there still (docs/decision.md).
    """
    others = max(0.0, nominal / max(seen, nominal / 1e6) - 1 - then)
    return nominal / (others + now + 1)
