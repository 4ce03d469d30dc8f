"""``ses map-near``: many tasks on the nodes that hold their files, and their output in order.

Each task's output is kept in a file until its turn has come, so that a task that is lost half-way leaves
nothing behind: what goes out is the output of exactly one complete run.
"""

from __future__ import annotations

import resource
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ses_client.errors import SesError

from ses.near.execution.connection import Connection, LostError, NotStartedError
from ses.near.execution.conversation import Conversation, Ended, answered
from ses.near.execution.executors import HERE as LOCAL
from ses.near.execution.job_array import JobArray
from ses.near.execution.run import File, Piece, Run
from ses.near.keeping import Output
from ses.near.learning import learn
from ses.near.run_near import Wanted
from ses.near.shuffle.sorting import MergeError, Shuffle
from ses.near.tasks import HERE, Progress, Task, Turns, progress

_LOOK_SECONDS = 0.2
_LEAVE_SECONDS = 3.0
_FILES_OF_A_TASK, _OTHER_FILES = 8, 64  # that are open here: pipes to its runner, and its output


class GivenUpError(SesError):
    """A task could not be run to its end often enough."""


@dataclass(slots=True)
class Result:
    """What all tasks gave.  ``status``: the highest exit status; ``moved``: tasks that ran elsewhere than
    planned; ``returned``: bytes of output; ``shuffled``: bytes that nodes sent each other; ``cpu_seconds``
    of all nodes together; ``failures``: of each node that could not run a task to its end, why it could not
    do so first; ``waited_seconds``: of all tasks, for their turns in the queues of nodes.
    """

    status: int = 0
    tasks: int = 0
    moved: int = 0
    returned: int = 0
    shuffled: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    waited_seconds: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    """What the threads share.  ``ran``: of each node the bytes and the ends of its tasks."""

    folder: Path
    finished: dict[int, Output] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    running: set[Connection | JobArray] = field(default_factory=set)
    ran: dict[str, list[tuple[int, Ended]]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)
    result: Result = field(default_factory=Result)


def run_all(
    wanted: Wanted,
    tasks: Sequence[Task],
    at_once: Mapping[str, int],
    retries: int,
    output: Callable[[bytes], object],
    errors: Callable[[bytes], object],
    report: Callable[[Progress], None],
    folder: Path | None = None,
    shuffle: Shuffle | None = None,
) -> Result:
    """Run all tasks, ``at_once`` of them on each node, and pass their output on in the order of the tasks.

    With a ``folder`` that all nodes share, the tasks of each are job arrays of Slurm.  With a ``shuffle``
    their output is sorted over all nodes first.  What whole runs showed of the program is remembered.
    Raises GivenUpError when a task was lost more than ``retries`` times, and what ``output`` raises; the
    programs that run then are ended.  When a signal does that (SystemExit), nodes that do not answer are
    left to themselves, and notes of the exception name them.
    """
    with tempfile.TemporaryDirectory(prefix="ses-map-near-", ignore_cleanup_errors=True) as kept:
        turns, state = Turns(tasks, retries), _State(Path(kept))
        began = time.monotonic()
        threads = _threads(wanted, at_once, turns, state, folder, shuffle)
        _allow_open_files(_OTHER_FILES + _FILES_OF_A_TASK * len(threads))
        try:
            for thread in threads:
                thread.start()
            _pass_on(tasks, turns, state, output, errors, report, began)
            if shuffle is not None:
                _merge(shuffle, state, output, errors)
        except SystemExit as stopped:
            for node in _end(turns, state, threads, _LEAVE_SECONDS):
                stopped.add_note(f"{node} has not answered. {wanted.argv[0]} may still run there.")
            raise
        except BaseException:
            _end(turns, state, threads)
            raise
        _end(turns, state, threads)
    for node, ran in state.ran.items() if shuffle is None else ():  # what they returned was not output
        learn(wanted.argv, node, ran)
    state.result.seconds = time.monotonic() - began
    return state.result


def _merge(
    shuffle: Shuffle, state: _State, output: Callable[[bytes], object], errors: Callable[[bytes], object]
) -> None:
    """Pass on what the nodes merge.  Raises GivenUpError."""
    total = state.result
    total.returned = 0

    def merged(kept: Output, returned: int) -> None:
        total.returned += returned
        kept.errors.pass_on(errors)
        kept.out.pass_on(output)

    try:
        for ended in shuffle.merge(state.folder, merged):
            total.status = max(total.status, ended.exit_status)
            total.cpu_seconds += ended.cpu_seconds
    except MergeError as error:
        raise GivenUpError(str(error)) from None


def _end(
    turns: Turns, state: _State, threads: Sequence[threading.Thread], seconds: float | None = None
) -> list[str]:
    """End what runs, and wait for that; returns nodes that are still waited for after ``seconds``.

    With ``seconds`` another signal ends the waiting, too.
    """
    turns.stop("it was stopped")
    with state.changed:
        running = list(state.running)
    until = time.monotonic() + (seconds or 0.0)
    try:
        for each in running:
            each.end()
        for thread in threads:
            if not thread.is_alive():  # it has ended, or was not begun
                continue
            thread.join(None if seconds is None else max(0.0, until - time.monotonic()))
    except SystemExit:
        if seconds is None:
            raise
    return list(dict.fromkeys(thread.name for thread in threads if thread.is_alive()))


def _threads(
    wanted: Wanted, at_once: Mapping[str, int], turns: Turns, state: _State, folder: Path | None,
    shuffle: Shuffle | None,
) -> list[threading.Thread]:  # fmt: skip
    """Return a thread for each task that may run at once, or for each array."""
    threads: list[threading.Thread] = []
    for node, count in at_once.items():
        if folder is not None and node != HERE:
            threads.append(_thread(_work_as_array, wanted, node, turns, state, folder, count))
        else:
            threads.extend(_thread(_work, wanted, node, turns, state, shuffle) for _ in range(count))
    return threads


def _allow_open_files(count: int) -> None:
    """Raise the limit of open files where it is less, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def _thread(
    work: Callable[..., None], wanted: Wanted, node: str, turns: Turns, state: _State, *more: object
) -> threading.Thread:
    def guarded() -> None:
        try:
            work(wanted, node, turns, state, *more)
        except Exception as error:  # nobody would do its tasks
            turns.stop(f"{node or 'this node'}: {error!r}")

    return threading.Thread(target=guarded, name=node or "this node", daemon=True)


def _pass_on(
    tasks: Sequence[Task], turns: Turns, state: _State,
    output: Callable[[bytes], object], errors: Callable[[bytes], object], report: Callable[[Progress], None],
    began: float,
) -> None:  # fmt: skip
    by_number = {task.number: task for task in tasks}
    reported_at = began
    for number in range(len(tasks)):
        with state.changed:
            while number not in state.finished:
                if turns.given_up is not None:
                    raise GivenUpError(f"{turns.given_up.rstrip('.')}.")
                if time.monotonic() - reported_at >= _LOOK_SECONDS:
                    reported_at = time.monotonic()
                    report(progress(by_number, state.done, reported_at - began))
                state.changed.wait(_LOOK_SECONDS)
            ready = state.finished.pop(number)
        ready.errors.pass_on(errors)
        ready.out.pass_on(output)


def _work(wanted: Wanted, node: str, turns: Turns, state: _State, shuffle: Shuffle | None) -> None:
    """Run tasks of a node one after the other, over one connection."""
    with Connection() as connection:
        with state.changed:
            state.running.add(connection)
        while (task := turns.take(node)) is not None:
            kept = Output(state.folder)
            try:
                run = run_of(wanted, task, node)
                run = run if shuffle is None else shuffle.mapped(run, task, node)
                ended = Conversation(run, connection).hold(kept.out.write, kept.errors.write, None)
                kept.close()
                if shuffle is not None:
                    shuffle.take(task, node, kept)
            except (NotStartedError, LostError, OSError) as error:
                _failed(task, node, kept, error, turns, state)
                continue
            _finished(task, node, kept, ended, turns, state)


def _work_as_array(
    wanted: Wanted, node: str, turns: Turns, state: _State, folder: Path, at_once: int
) -> None:
    tasks: dict[int, Task] = {}
    while (task := turns.take(node)) is not None:
        tasks[task.number] = task
    if not tasks:
        return
    runs = {number: run_of(wanted, task, node) for number, task in tasks.items()}
    array = JobArray(runs, at_once, folder, wanted.rsh)
    with state.changed:
        state.running.add(array)
    try:
        array.submit()
    except (NotStartedError, OSError) as error:
        array.end()
        with state.changed:
            state.result.failures.setdefault(node, str(error))
        for task in tasks.values():
            turns.failed(task, node, f"{node}: {error}")
        return
    for number, answer in array.answers():
        kept = Output(state.folder)
        try:
            if answer is None:
                raise LostError(
                    array.error_of(number) or "the element of the job array ended without an answer"
                )
            with answer.open("rb") as come:
                ended = answered(come, runs[number], kept.out.write, kept.errors.write)
            kept.close()
            answer.unlink()
        except (NotStartedError, LostError, OSError) as error:
            _failed(tasks[number], node, kept, error, turns, state)
            continue
        _finished(tasks[number], node, kept, ended, turns, state)


def _failed(task: Task, node: str, kept: Output, error: Exception, turns: Turns, state: _State) -> None:
    kept.drop()
    turns.failed(task, node, f"{node or 'this node'}: {error}")
    with state.changed:
        state.result.failures.setdefault(node or "this node", str(error))
        state.changed.notify_all()


def _finished(task: Task, node: str, kept: Output, ended: Ended, turns: Turns, state: _State) -> None:
    with state.changed:
        state.finished[task.number] = kept
        state.done.append(task.number)
        if node != HERE:
            state.ran.setdefault(node, []).append((task.end - task.start, ended))
        total = state.result
        total.status = max(total.status, ended.exit_status)
        total.tasks += 1
        total.moved += node != task.node
        total.returned += ended.returned
        total.cpu_seconds += ended.cpu_seconds
        total.waited_seconds += ended.waited_seconds
        state.changed.notify_all()
    turns.done(node)


def run_of(wanted: Wanted, task: Task, node: str) -> Run:
    """Return the run of a task on a node, or on this one."""
    here = node == HERE
    name = str(task.file.absolute()) if here else wanted.name_there(task.file)
    mapped = not here and wanted.path_map is not None
    shown = "/dev/stdin" if not task.whole else name if mapped else wanted.name_here(task.file)
    argv = tuple(shown if word == "{}" else word for word in wanted.argv)
    piece = None if task.whole else Piece(name, task.start, task.end)
    executor, rsh = (LOCAL, ()) if here else (wanted.executor_used, wanted.rsh)
    files = (File.of(task.file, name),)
    at_once = 0 if here else wanted.at_once
    return Run(argv, node or "here", executor, files, wanted.limits, rsh, piece, at_once=at_once)
