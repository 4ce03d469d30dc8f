"""The queue of a node: tasks of all users' ``ses map-near`` take turns for its processors and its memory.

A site makes the file by which it is kept; where there is none, nobody waits.  It holds nothing.  Bytes of it
stand for shares of the node, and who runs a task has locked as many as the task takes.  Locks end with the
process that has them, so nothing is left by who is killed.  Who comes next waits at the first byte until all
its shares are free, and the others behind it, in the order in which they came.

Needs Python 3.8, and nothing else: its text is sent with the runner's (:mod:`ses.near.execution.runner`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "/run/ses-near.queue"
SHARES_OF_A_PROCESSOR = 8
SHARES_OF_MEMORY = 64
MEMORY_AT = 1 << 20  # the first byte that stands for memory; those of processors are from 1 on
LOOK_SECONDS = 0.02


def shares(at_once: int, cpus: float | None, memory: int | None) -> tuple[int, int]:
    """Return what a task takes of the processors and of the memory, ``at_once`` of which fill the node.

    More at once than there are shares take none.
    """
    there = SHARES_OF_A_PROCESSOR * (os.cpu_count() or 1)
    processors = min(round(SHARES_OF_A_PROCESSOR * (cpus or 1.0)), there // at_once)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return processors, min(SHARES_OF_MEMORY, -(-SHARES_OF_MEMORY * (memory or 0) // total))


class NodeQueue:
    """This node's queue.  Used by one thread; a process has one at a time."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Open the file that the environment names, or the usual one, if it is there for this user."""
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open(
                environ.get("SES_NEAR_QUEUE", FILE), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            )

    def enter(self, processors: int, memory: int) -> float:
        """Wait for shares; returns the seconds it took."""
        began = time.monotonic()
        if self._file < 0 or not processors + memory:
            return 0.0
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, 0)
        there = SHARES_OF_A_PROCESSOR * (os.cpu_count() or 1)
        self._lock(processors, range(1, 1 + there))
        self._lock(memory, range(MEMORY_AT, MEMORY_AT + SHARES_OF_MEMORY))
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, 0)
        return time.monotonic() - began

    def leave(self) -> None:
        """Give up what was taken."""
        if self._file >= 0:
            os.close(self._file)

    def _lock(self, count: int, free: range) -> None:
        left = list(free)
        while count:
            for byte in list(left):
                with contextlib.suppress(OSError):
                    fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                    left.remove(byte)
                    count -= 1
                if not count:
                    return
            time.sleep(LOOK_SECONDS)
