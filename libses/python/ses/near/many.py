"""``ses map-near``: many tasks on the nodes that hold their files, and their output in order.

Each task's output is kept in a file until its turn has come, so that a task that is lost half-way leaves
nothing behind: what goes out is the output of exactly one complete run.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ses_client.errors import SesError

from ses.near.execution.conversation import (
    Conversation,
    Ended,
    File,
    LostError,
    NotStartedError,
    Piece,
    Run,
    answered,
)
from ses.near.execution.job_array import JobArray
from ses.near.single import Wanted
from ses.near.tasks import HERE, Progress, Task, Turns, progress

_LOOK_SECONDS = 0.2
_COPY = 1 << 18


class GivenUpError(SesError):
    """A task could not be run to its end often enough."""


@dataclass(slots=True)
class Result:
    """What all tasks gave.  ``status``: the highest exit status; ``moved``: tasks that ran elsewhere than
    planned; ``returned``: bytes of output; ``cpu_seconds`` of all nodes together.
    """

    status: int = 0
    tasks: int = 0
    moved: int = 0
    returned: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class _Output:
    out: IO[bytes]
    errors: IO[bytes]


@dataclass(slots=True)
class _State:
    """What the threads share, under one lock."""

    finished: dict[int, _Output] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    running: set[Conversation | JobArray] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    result: Result = field(default_factory=Result)


def run_all(
    wanted: Wanted,
    tasks: Sequence[Task],
    at_once: Mapping[str, int],
    retries: int,
    output: Callable[[bytes], object],
    errors: Callable[[bytes], object],
    tell: Callable[[Progress], None],
    folder: Path | None = None,
) -> Result:
    """Run all tasks, ``at_once`` of them on each node, and pass their output on in the order of the tasks.

    With a ``folder`` that all nodes share, the tasks of each are job arrays of Slurm.  Raises GivenUpError
    when a task was lost more than ``retries`` times, and what ``output`` raises; the programs that run then
    are ended.
    """
    turns, state = Turns(tasks, retries), _State()
    by_number = {one.number: one for one in tasks}
    began = time.monotonic()
    threads = []
    for node, count in at_once.items():
        if folder is not None and node != HERE:
            more = (folder, count)
            threads.append(threading.Thread(target=_work_as_array, args=(wanted, node, turns, state, *more)))
        else:
            one_by_one = (
                threading.Thread(target=_work, args=(wanted, node, turns, state)) for _ in range(count)
            )
            threads.extend(one_by_one)
    for one in threads:
        one.daemon = True
        one.start()
    try:
        for number in range(len(tasks)):
            while (ready := _take(state, number)) is None:
                if turns.given_up is not None:
                    raise GivenUpError(f"{turns.given_up}.")
                with state.lock:
                    tell(progress(by_number, state.done, time.monotonic() - began))
                time.sleep(_LOOK_SECONDS if len(tasks) > 1 else _LOOK_SECONDS / 10)
            with ready.out, ready.errors:
                _copy(ready.errors, errors)
                _copy(ready.out, output)
    finally:
        turns.stop("it was stopped")
        with state.lock:
            running = list(state.running)
        for each in running:
            each.end()
        for one in threads:
            one.join()
        for left in state.finished.values():
            left.out.close()
            left.errors.close()
    state.result.seconds = time.monotonic() - began
    return state.result


def _work(wanted: Wanted, node: str, turns: Turns, state: _State) -> None:
    while (task := turns.take(node)) is not None:
        with ExitStack() as undo:
            kept = _Output(
                undo.enter_context(tempfile.TemporaryFile()), undo.enter_context(tempfile.TemporaryFile())
            )
            try:
                ended = _held(wanted, task, node, kept, state)
            except (NotStartedError, LostError, OSError) as error:
                turns.failed(task, node, f"{node or 'this node'}: {error}")
                continue
            undo.pop_all()
        _finished(task, node, kept, ended, turns, state)


def _work_as_array(
    wanted: Wanted, node: str, turns: Turns, state: _State, folder: Path, at_once: int
) -> None:
    tasks: dict[int, Task] = {}
    while (task := turns.take(node)) is not None:
        tasks[task.number] = task
    if not tasks:
        return
    runs = {number: run_of(wanted, one, node) for number, one in tasks.items()}
    array = JobArray(runs, at_once, folder, wanted.rsh)
    with state.lock:
        state.running.add(array)
    try:
        array.submit()
    except (NotStartedError, OSError) as error:
        array.end()
        for one in tasks.values():
            turns.failed(one, node, f"{node}: {error}")
        return
    for number, answer in array.answers():
        with ExitStack() as undo:
            kept = _Output(
                undo.enter_context(tempfile.TemporaryFile()), undo.enter_context(tempfile.TemporaryFile())
            )
            try:
                if answer is None:
                    raise LostError(
                        array.said(number) or "the element of the job array ended without an answer"
                    )
                with answer.open("rb") as come:
                    ended = answered(come, runs[number], kept.out.write, kept.errors.write)
                answer.unlink()
            except (NotStartedError, LostError, OSError) as error:
                turns.failed(tasks[number], node, f"{node}: {error}")
                continue
            undo.pop_all()
        _finished(tasks[number], node, kept, ended, turns, state)


def _finished(task: Task, node: str, kept: _Output, ended: Ended, turns: Turns, state: _State) -> None:
    with state.lock:
        state.finished[task.number] = kept
        state.done.append(task.number)
        total = state.result
        total.status = max(total.status, ended.exit_status)
        total.tasks += 1
        total.moved += node != task.node
        total.returned += ended.returned
        total.cpu_seconds += ended.cpu_seconds
    turns.done(node)


def _held(wanted: Wanted, task: Task, node: str, kept: _Output, state: _State) -> Ended:
    conversation = Conversation(run_of(wanted, task, node))
    with state.lock:
        state.running.add(conversation)
    try:
        return conversation.hold(kept.out.write, kept.errors.write, None)
    finally:
        with state.lock:
            state.running.discard(conversation)


def run_of(wanted: Wanted, task: Task, node: str) -> Run:
    """Return the run of a task on a node, or on this one."""
    here = node == HERE
    name = str(task.file.absolute()) if here else wanted.name_there(task.file)
    mapped = not here and wanted.path_map is not None
    shown = "/dev/stdin" if not task.whole else name if mapped else str(task.file)
    argv = tuple(shown if one == "{}" else one for one in wanted.argv)
    piece = None if task.whole else Piece(name, task.start, task.end)
    executor, rsh = ("command", ("env",)) if here else (wanted.executor_used, wanted.rsh)
    return Run(argv, node or "here", executor, (File.of(task.file, name),), wanted.limits, rsh, piece)


def _take(state: _State, number: int) -> _Output | None:
    with state.lock:
        return state.finished.pop(number, None)


def _copy(source: IO[bytes], to: Callable[[bytes], object]) -> None:
    source.seek(0)
    while data := source.read(_COPY):
        to(data)
