"""The tasks of ``ses map-near``: which there are, and whose turn each is.

Pure but for the lock of :class:`Turns`, which many threads ask.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = ""
"""The name of this node among the nodes."""
_FAILURES = 2  # in a row, and a node is given no more tasks


@dataclass(frozen=True, slots=True)
class Task:
    """A file, or the lines of it that begin within [start, end).  ``number`` is its place in the output."""

    number: int
    file: Path
    node: str
    start: int
    end: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """The bytes [start, end) of a file, which a node holds; ``whole``: these are all."""

    file: Path
    start: int
    end: int
    node: str
    whole: bool = True


def tasks_of(extents: Sequence[Extent], piece: int | None) -> list[Task]:
    """Return the tasks for what nodes hold, in order; pieces have about ``piece`` bytes."""
    tasks: list[Task] = []
    for extent in extents:
        size = extent.end - extent.start
        count = 1 if piece is None else max(1, -(-size // piece))
        for part in range(count):
            start, end = (extent.start + size * number // count for number in (part, part + 1))
            tasks.append(Task(len(tasks), extent.file, extent.node, start, end, extent.whole and count == 1))
    return tasks


class Turns:
    """Gives each node its tasks.  Those of a node that fails go to this node; a task is begun at most
    ``1 + retries`` times.  All methods may be called by any thread.
    """

    def __init__(self, tasks: Sequence[Task], retries: int) -> None:
        self._queues: dict[str, deque[Task]] = {HERE: deque()}
        for task in tasks:
            self._queues.setdefault(task.node, deque()).append(task)
        self._retries = retries
        self._begun: Counter[int] = Counter()
        self._failures: Counter[str] = Counter()
        self._left = len(tasks)
        self._given_up: str | None = None
        self._changed = threading.Condition()

    def take(self, node: str) -> Task | None:
        """Return the next task for a node; this node waits while others may fail.  ``None``: no more."""
        with self._changed:
            while True:
                if self._left == 0 or self._given_up is not None:
                    return None
                if self._queues[node]:
                    task = self._queues[node].popleft()
                    self._begun[task.number] += 1
                    return task
                if node != HERE:
                    return None
                self._changed.wait()

    def done(self, node: str) -> None:
        """Tell that a task has ended on a node, whatever its exit status."""
        with self._changed:
            self._failures[node] = 0
            self._left -= 1
            self._changed.notify_all()

    def failed(self, task: Task, node: str, reason: str) -> None:
        """Tell that a node could not run a task to its end; it is given to this node, or given up."""
        with self._changed:
            self._failures[node] += 1
            if self._begun[task.number] > self._retries:
                self._given_up = f"{task.file} was tried {self._begun[task.number]} times: {reason}"
            else:
                self._queues[HERE].append(task)
            if node != HERE and self._failures[node] >= _FAILURES:
                self._queues[HERE].extend(self._queues[node])
                self._queues[node].clear()
            self._changed.notify_all()

    def stop(self, reason: str) -> None:
        """Give no more tasks."""
        with self._changed:
            self._given_up = reason
            self._changed.notify_all()

    @property
    def given_up(self) -> str | None:
        """Return why tasks are not done that should be; ``None``: all goes well."""
        return self._given_up


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.  ``seconds_left``: at the rate so far, ``None`` before anything is done."""

    tasks: int
    of: int
    bytes: int
    seconds_left: float | None

    @property
    def text(self) -> str:
        """Return it in words."""
        left = "" if self.seconds_left is None else f", about {self.seconds_left:.0f} s left"
        return f"{self.tasks} of {self.of} tasks, {self.bytes / 1e6:.0f} MB{left}"


def progress(tasks: Mapping[int, Task], done: Sequence[int], seconds: float) -> Progress:
    """Return how far it is after ``seconds`` from the numbers of the tasks that are done."""
    total = sum(task.end - task.start for task in tasks.values())
    finished = sum(tasks[number].end - tasks[number].start for number in done)
    left = seconds * (total - finished) / finished if finished else None
    return Progress(len(done), len(tasks), finished, left)
