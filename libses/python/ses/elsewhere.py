"""Asking about what may hang, in another process: a mount whose server is away holds its caller for ever.

It would hold the end of a process, too: the one that asks is left behind then, and nobody waits for it.  It
keeps nothing of the caller's open.  What hangs seldom is asked about in threads of this process, which takes
a tenth of the time, and does not grow with the memory that a process has.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import time
import warnings
from _queue import Empty, SimpleQueue
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from ses_client.errors import SesError

NO_PROCESS = "See ulimit -u, and how many processes the job or container may have."
PATIENCE = 2.0  # seconds until something counts as hanging
_SOON = 0.05  # seconds until the rest is asked about all at once
# Seconds in which a process must have begun; else it is tried anew. One that is forked while other threads
# run may wait for ever for what one of them held; that of a large program on a busy machine takes seconds.
_BEGINS = (1.0, 3.0, 6.0)
_LONGEST = 3600.0  # seconds for which a process that is left behind asks
_RESULT = 3  # the descriptor by which a process answers
_forks = allocate_lock()
_left_behind: list[int] = []  # processes that may hang


def ask_elsewhere(
    names: Sequence[str],
    asked: Callable[[str], Any],
    meanwhile: Callable[[], object] = lambda: None,
    patience: float = PATIENCE,
) -> dict[str, Any]:
    """Return what is said of each name, as JSON has it; names without an answer in time are left out.

    The other process calls ``asked`` with each name; this one calls ``meanwhile``.
    """
    _left_behind[:] = [pid for pid in _left_behind if not _is_over(pid, os.WNOHANG)]
    answers: dict[str, Any] = {}
    for seconds in _BEGINS:
        pid, reading = _start(names, asked)
        began = time.monotonic()
        try:
            meanwhile()
            has_begun = _has_begun(reading, seconds)
            if has_begun:
                _take(reading, answers, set(names), patience)
        finally:
            os.close(reading)
            may_hang = answers.keys() < set(names) or time.monotonic() - began >= _SOON
            if may_hang:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not _is_over(pid, os.WNOHANG if may_hang else 0):
                _left_behind.append(pid)
        if has_begun:
            break
        meanwhile = int  # it was done
    return answers


def ask_here(names: Sequence[str], asked: Callable[[str], Any], patience: float = PATIENCE) -> dict[str, Any]:
    """Return the same, by threads: one that hangs goes on, and holds the end of this process."""
    return dict(_answers(names, asked, patience))


def _answers(names: Sequence[str], asked: Callable[[str], Any], patience: float) -> Iterator[tuple[str, Any]]:
    """Ask about one after the other, which is the fastest, and soon about the rest at once: one may hang.

    About each once, however long it takes: to make a directory is asked here, too.
    """
    said: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    rest, began = dict.fromkeys(names), time.monotonic()
    waiting = iter(list(rest))  # of which each thread takes the next

    def ask() -> None:
        for name in waiting:
            said.put((name, asked(name)))

    _thread(ask)
    for until in (began + _SOON, began + patience):
        with suppress(Empty):
            while rest:
                name, answer = said.get(timeout=max(0.0, until - time.monotonic()))
                del rest[name]
                yield name, answer
        for _ in rest if until == began + _SOON else ():
            _thread(ask)


def close_all_from(first: int) -> None:
    """Close what a caller has open from a descriptor on: who reads its output waits for no child."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _has_begun(reading: int, seconds: float) -> bool:
    """Return whether a process says in time that it begins."""
    waiting = select.poll()
    waiting.register(reading, select.POLLIN)
    return bool(waiting.poll(seconds * 1000)) and os.read(reading, 1) == b"\n"


def _take(reading: int, answers: dict[str, Any], names: set[str], patience: float) -> None:
    """Take the answers of a process, until it has said all, or time is up."""
    waiting, said, until = select.poll(), b"", time.monotonic() + patience
    waiting.register(reading, select.POLLIN)
    while answers.keys() < names and waiting.poll(max(0.0, until - time.monotonic()) * 1000):
        part = os.read(reading, 1 << 16)
        if not part:
            break
        *lines, said = (said + part).split(b"\n")
        answers |= map(json.loads, lines)


def _is_over(pid: int, options: int) -> bool:
    try:
        return os.waitpid(pid, options)[0] == pid
    except ChildProcessError:  # the caller has children end unseen
        return True


def _start(names: Sequence[str], asked: Callable[[str], Any]) -> tuple[int, int]:
    """Start a process that asks; return it, and where its answers come."""
    reading, writing = os.pipe()
    pid = _fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.dup2(writing, _RESULT)
        close_all_from(_RESULT + 1)
        os.write(_RESULT, b"\n")
        for answer in _answers(names, asked, _LONGEST):
            os.write(_RESULT, json.dumps(answer).encode() + b"\n")
    finally:
        os._exit(0)


def _fork() -> int:
    """Fork; what the child has of others is never collected there.

    A finalizer may wait for a lock that a thread of the caller held: a connection to SQLite does that.
    """
    with _forks, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: it takes no lock of theirs
        collects, pid = gc.isenabled(), -1
        gc.disable()
        try:
            pid = os.fork()
        except OSError as error:
            raise SesError(
                f"No process can begin that looks at what may hang: {error.strerror}.", NO_PROCESS
            ) from error
        finally:
            if collects and pid:
                gc.enable()
    return pid


def _renew() -> None:
    global _forks  # of who forked a program while it was held
    _forks = allocate_lock()


os.register_at_fork(after_in_child=_renew)


def _thread(call: Callable[..., object], *arguments: object) -> None:
    """Call in a thread, or here where a user may have no more."""
    try:
        start_new_thread(call, arguments)
    except RuntimeError:
        call(*arguments)
