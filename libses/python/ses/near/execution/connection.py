"""The runner on one node, which an executor starts; it runs programs one after the other.

Starting it takes longer than a small program does (a connection, a login, Python), so it is kept for the next
ones.  It gets no more programs after some minutes: where it is a job of Slurm, that job has an end.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import IO, Any

from ses_client.errors import SesError

from ses.near.execution import frames
from ses.near.execution.executors import argv_of
from ses.near.execution.incoming import Incoming
from ses.near.execution.run import Run
from ses.near.execution.waiting import EXACT_SECONDS, queued_seconds
from ses.near.execution.watch import leave_signals
from ses.slurm.scontrol import environment

_STDERR_KEPT = 400
_PIECE = 1 << 16
_CLOSE_SECONDS = 10.0
_LEAVE_SECONDS = 2.0
_MAX_SECONDS = 300.0


class NotStartedError(SesError):
    """The program did not start on the node; nothing was read or written, so it can run elsewhere."""


class LostError(SesError):
    """The node was lost while the program ran."""


class LeftError(SesError):
    """A signal ended the waiting for a node on which the program may still run; ``number``: the signal's."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


@dataclass(slots=True)
class _Started:
    """The command that runs the runner.  ``reached``: it has answered; ``left``: nobody waits for it."""

    process: subprocess.Popen[bytes]
    to: IO[bytes]
    come: Incoming
    since: float
    errors: list[bytes]
    listener: threading.Thread
    reached: bool = False
    left: bool = False


class Connection:
    """The runner of one node.  Used by one thread; :meth:`end` and :meth:`send` by any.

    ``start_seconds``: what it took until the first program ran there, without ``queued_seconds`` in the queue
    of Slurm; ``None``: none did, or Slurm does not say.
    """

    def __init__(self) -> None:
        self.start_seconds: float | None = None
        self.queued_seconds: float | None = None
        self._measured = False
        self._now: _Started | None = None
        self._ended = False
        # of what is there now, and of writing to it; the handler of a signal may interrupt who holds them
        self._lock, self._writing = threading.RLock(), threading.RLock()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, Exception):
            self.close()
        else:  # a signal
            self.leave()

    @property
    def reached(self) -> bool:
        """Tell whether the runner is there."""
        return self._now is not None and self._now.reached

    def begin(self, run: Run) -> tuple[Incoming, tuple[bytes, bytes]]:
        """Send a run to the runner, which is started if need be; returns where it speaks, and its first word.

        Raises NotStartedError with the reason.
        """
        if self._now is not None and time.monotonic() - self._now.since > _MAX_SECONDS:
            self.close()
        began = time.monotonic()
        with self._lock:
            if self._ended:
                raise NotStartedError("it was stopped")
            now = self._now = self._now or _start(argv_of(run.executor, run.node, run.limits, run.rsh))
        self._write(now, frames.written(b"R", run.request()))
        try:
            job = b""
            if not now.reached:
                kind, job = _first_frame(now, run.node)
                now.reached = kind == b"H"
            first = _first_frame(now, run.node)
            while first[0] == b"S":  # of a signal to the program before
                first = _first_frame(now, run.node)
        except frames.NoFrameError as error:
            raise NotStartedError(f"what answers on {run.node} is not the runner: {error}") from None
        if not self._measured:
            self._measured = True
            waited = json.loads(first[1]).get("waited_seconds", 0.0) if first[0] == b"G" else 0.0
            self._keep(time.monotonic() - began - waited, _job(run, job))
        return now.come, first

    def _keep(self, seconds: float, job: str) -> None:
        """Keep what it took until the first program ran, in a job that may have waited in a queue."""
        asked = bool(job) and seconds >= EXACT_SECONDS
        self.queued_seconds = queued_seconds(job) if asked else 0.0
        if self.queued_seconds is not None:
            self.start_seconds = max(0.0, seconds - self.queued_seconds)

    def send(self, kind: bytes, data: bytes = b"", seconds: float | None = None) -> None:
        """Send a frame to the program that runs, if one does; after ``seconds`` that is given up."""
        with self._lock:
            now = self._now
        if now is not None:
            self._write(now, frames.written(kind, data), seconds)

    def end(self) -> None:
        """End the program that runs (SIGHUP, and SIGKILL 5 s later), and run no more."""
        with self._lock:
            self._ended = True
            now = self._now
        if now is not None:
            self._hang_up(now)
            late = threading.Timer(_CLOSE_SECONDS, _kill, (now, signal.SIGKILL))  # the node may be dead
            late.daemon = True
            late.start()

    def close(self) -> None:
        """Let the runner end, and wait for it.  A program that still runs there is ended."""
        with self._lock:
            now, self._now = self._now, None
        if now is None:
            return
        if now.left:
            self._let_go(now)
        else:
            reader = threading.Thread(target=_read_on, args=(now.come,), daemon=True)
            reader.start()
            self._hang_up(now)
            waiter = threading.Thread(target=now.process.wait, daemon=True)
            waiter.start()
            waiter.join(_CLOSE_SECONDS)
            if waiter.is_alive():
                _kill(now, signal.SIGKILL)
                waiter.join()
            now.come.end()
            reader.join()
        now.come.close()

    def leave(self) -> bool:
        """End as :meth:`close` does, but wait for two seconds at most, and not after another signal.

        Returns whether the runner has ended.  If not, the command that reaches it is left to end by itself.
        """
        with self._lock:
            now, self._now, self._ended = self._now, None, True
        if now is None:
            return True
        try:
            self._hang_up(now, _LEAVE_SECONDS)
            now.process.wait(_LEAVE_SECONDS)
        except (subprocess.TimeoutExpired, SystemExit):
            return False
        return True

    def abandon(self) -> None:
        """End as :meth:`leave` does, and wait for nothing: a signal's handler may call it."""
        with self._lock:
            now, self._now, self._ended = self._now, None, True
        if now is not None:
            self._let_go(now)

    def give_up(self) -> None:
        """Wait no more for the node, which does not answer: what is read from it ends.

        The command that reaches it is asked to end.  It is not killed, since srun takes its job back first.
        """
        with self._lock:
            now = self._now
            if now is not None:
                now.left = self._ended = True
                _kill(now, signal.SIGTERM)
                now.come.end()

    def _let_go(self, now: _Started) -> None:
        """Close the runner's input, unless somebody waits to write to it: it is closed with this process."""
        if self._writing.acquire(blocking=False):
            try:
                with contextlib.suppress(OSError):
                    now.to.close()
            finally:
                self._writing.release()

    def _hang_up(self, now: _Started, seconds: float | None = None) -> None:
        if not now.reached:  # what waits for a node does not look at its input
            _kill(now, signal.SIGTERM)
        timeout = _CLOSE_SECONDS if seconds is None else seconds
        if not self._writing.acquire(timeout=timeout):  # a dead node takes nothing any more
            _kill(now, signal.SIGKILL)
            self._writing.acquire()
        try:
            with contextlib.suppress(OSError):
                now.to.close()
        finally:
            self._writing.release()

    def _write(self, now: _Started, data: bytes, seconds: float | None = None) -> None:
        """Write it all, or what can be: when the other side is lost or ended, reading reports it.

        With ``seconds`` nothing is written when it cannot be begun by then.
        """
        view = memoryview(data)
        if not self._writing.acquire(timeout=-1 if seconds is None else seconds):
            return
        try:
            with contextlib.suppress(OSError, ValueError):
                if seconds is not None and not select.select([], [now.to], [], seconds)[1]:
                    return
                while view:
                    view = view[os.write(now.to.fileno(), view) :]
        finally:
            self._writing.release()


def _start(argv: list[str]) -> _Started:
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, env=environment(),
        )  # fmt: skip
    except OSError as error:
        raise NotStartedError(f"{argv[0]}: {error.strerror}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    kept: list[bytes] = []
    listener = threading.Thread(target=_keep_end, args=(process.stderr, kept), daemon=True)
    listener.start()
    return _Started(process, process.stdin, Incoming(process.stdout), time.monotonic(), kept, listener)


def _job(run: Run, answer: bytes) -> str:
    """Return the job of Slurm that was made for the runner; empty: none was, as in a user's allocation."""
    return answer.decode() if run.executor == "slurm" and "SLURM_JOB_ID" not in os.environ else ""


def _first_frame(now: _Started, node: str) -> tuple[bytes, bytes]:
    """Return the next frame before a program runs; raises NoFrameError, NotStartedError."""
    first = frames.read(now.come)
    if first is None:
        if not now.left:
            now.listener.join(_CLOSE_SECONDS)
        why = b"".join(now.errors).decode("utf-8", "replace").strip().splitlines()
        raise NotStartedError(why[-1] if why else f"{node} gave no answer")
    return first


def _kill(now: _Started, number: int) -> None:
    """Send a signal to the command, if it still runs, and to what it started."""
    with contextlib.suppress(ProcessLookupError):
        if now.process.poll() is None:
            os.killpg(now.process.pid, number)


def _read_on(come: Incoming) -> None:
    """Read what nobody wants any more: a runner that waits to be read does not end."""
    leave_signals()
    while come.read(_PIECE):
        pass


def _keep_end(stream: Any, kept: list[bytes]) -> None:
    leave_signals()
    with stream:
        while data := stream.read1(_PIECE):
            kept[:] = [b"".join((*kept, data))[-_STDERR_KEPT:]]
