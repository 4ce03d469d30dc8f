"""One program on another node: its streams, signals and end, as if it ran here.

The program's output goes where the caller says; standard input is passed on from the moment the program runs,
so that it is untouched if it cannot be.  Used by one thread; :meth:`Conversation.signal` by any.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from ses_client.errors import SesError

from ses.near.execution import frames
from ses.near.execution.executors import EXECUTORS, NO_LIMITS, Limits

_STDERR_KEPT = 400
_PIECE = 1 << 16
_ON_THE_WAY = 64  # parts of standard input that the program has not taken yet
_CLOSE_SECONDS = 10.0


class NotStartedError(SesError):
    """The program did not start on the node; nothing was read or written, so it can run elsewhere."""


class LostError(SesError):
    """The node was lost while the program ran."""


@dataclass(frozen=True, slots=True)
class File:
    """A file the program reads: its name on the node, bytes, time of its last change in whole seconds."""

    path: str
    size: int
    mtime: int

    @classmethod
    def of(cls, path: Path, there: str | None = None) -> File:
        """Make one from a file here; ``there``: its name on the node if that differs.  Raises OSError."""
        status = path.stat()
        return cls(there or str(path.absolute()), status.st_size, status.st_mtime_ns // 10**9)


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a file that begin within [start, end), given to the program as standard input."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """What is run on which node, by which executor (``rsh``: its own command).

    ``attended``: somebody listens all the time, and the program ends when nobody does any more.
    """

    argv: tuple[str, ...]
    node: str
    executor: str
    files: tuple[File, ...] = ()
    limits: Limits = NO_LIMITS
    rsh: tuple[str, ...] = ()
    piece: Piece | None = None
    attended: bool = True

    def request(self) -> bytes:
        """Return what the runner is told: also this process's user, directory and environment."""
        return json.dumps({
            "argv": self.argv, "files": [asdict(one) for one in self.files], "uid": os.getuid(),
            "directory": str(Path.cwd()), "environment": dict(os.environ), "limits": asdict(self.limits),
            "executor": self.executor, "attended": self.attended,
            "piece": None if self.piece is None else asdict(self.piece),
        }).encode()  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended.  ``status``: exit status, or the signal's number, negative.  ``seconds``: while it
    ran there.  ``limits``: in words, how they were kept.  ``returned``: bytes of its output.
    """

    status: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    limits: str
    cores: float
    memory: float
    returned: int

    @property
    def exit_status(self) -> int:
        """Return the status as a shell tells it."""
        return 128 - self.status if self.status < 0 else self.status


class Conversation:
    """Runs one program on another node."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._to: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._early: list[int] = []
        self._taken = threading.Semaphore(_ON_THE_WAY)

    def signal(self, number: int) -> None:
        """Send the program a signal; one that comes before it runs is sent when it does."""
        if self._to is None:
            self._early.append(number)
        else:
            self._send(b"K", str(number).encode())

    def end(self) -> None:
        """End the program: SIGHUP, and SIGKILL 5 s later.  :meth:`hold` then raises LostError."""
        with self._lock, contextlib.suppress(OSError):
            if self._to is not None:
                self._to.close()

    def hold(
        self, output: Callable[[bytes], Any], errors: Callable[[bytes], Any], stdin: int | None
    ) -> Ended:
        """Run the program to its end; ``stdin`` is a descriptor to pass on, ``None``: it gets none.

        Raises NotStartedError with the reason, LostError, and what ``output`` raises: the program then gets
        SIGHUP.
        """
        argv = EXECUTORS[self._run.executor](self._run.node, self._run.limits, self._run.rsh)
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise NotStartedError(f"{argv[0]}: {error.strerror}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[bytes] = []
        listener = threading.Thread(target=_keep_end, args=(process.stderr, said), daemon=True)
        listener.start()
        try:
            return self._converse(process.stdin, process.stdout, said, listener, output, errors, stdin)
        finally:
            self._to = None
            for stream in (process.stdin, process.stdout):
                try:
                    stream.close()
                except OSError:
                    continue
            try:
                process.wait(timeout=_CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _converse(
        self, to: IO[bytes], come: IO[bytes], said: list[bytes], listener: threading.Thread,
        output: Callable[[bytes], Any], errors: Callable[[bytes], Any], stdin: int | None,
    ) -> Ended:  # fmt: skip
        try:
            to.write(frames.written(b"R", self._run.request()))
            to.flush()
        except OSError:
            pass  # it ended; what it said is read below
        try:
            first = frames.read(come)
        except frames.NoFrameError as error:
            raise NotStartedError(f"what answers on {self._run.node} is not the runner: {error}") from None
        if first is None:
            listener.join(_CLOSE_SECONDS)
            why = b"".join(said).decode("utf-8", "replace").strip().splitlines()
            raise NotStartedError(why[-1] if why else f"{self._run.node} gave no answer")
        begun = _begun(first)
        self._to = to
        for number in self._early:
            self.signal(number)
        if stdin is None:
            self._send(b"Z")
        else:
            threading.Thread(target=self._pass_on, args=(stdin,), daemon=True).start()
        ended = _heard(come, begun, output, errors, self._taken.release)
        if ended is None:
            raise LostError(
                f"The connection to {self._run.node} was lost while {self._run.argv[0]} ran there."
            )
        return ended

    def _pass_on(self, descriptor: int) -> None:
        while data := os.read(descriptor, _PIECE):
            self._taken.acquire()
            self._send(b"I", data)
        self._send(b"Z")

    def _send(self, kind: bytes, data: bytes = b"") -> None:
        with self._lock:
            try:
                if self._to is not None:
                    self._to.write(frames.written(kind, data))
                    self._to.flush()
            except (OSError, ValueError):  # the node is lost or the program ended: the reader tells
                return


def answered(
    come: IO[bytes], run: Run, output: Callable[[bytes], Any], errors: Callable[[bytes], Any]
) -> Ended:
    """Return how a run ended that nobody attended, from all the runner said.

    Raises NotStartedError with the reason, LostError, and what ``output`` raises.
    """
    try:
        first = frames.read(come)
        ended = None if first is None else _heard(come, _begun(first), output, errors, lambda: None)
    except frames.NoFrameError as error:
        raise NotStartedError(f"what answers on {run.node} is not the runner: {error}") from None
    if ended is None:
        raise LostError(f"What {run.argv[0]} said on {run.node} is not whole.")
    return ended


def _begun(first: tuple[bytes, bytes]) -> dict[str, Any]:
    if first[0] == b"N":
        raise NotStartedError(first[1].decode("utf-8", "replace"))
    begun: dict[str, Any] = json.loads(first[1])
    return begun


def _heard(
    come: IO[bytes],
    begun: dict[str, Any],
    output: Callable[[bytes], Any],
    errors: Callable[[bytes], Any],
    taken: Callable[[], Any],
) -> Ended | None:
    """Pass on what a program says until its end; ``None``: the end was not told."""
    returned = 0
    while (frame := frames.read(come)) is not None:
        kind, data = frame
        if kind == b"A":
            taken()
        elif kind == b"O":
            returned += len(data)
            output(data)
        elif kind == b"E":
            errors(data)
        elif kind == b"X":
            return Ended(**json.loads(data), **begun, returned=returned)
    return None


def _keep_end(stream: IO[bytes], kept: list[bytes]) -> None:
    while data := stream.read1(_PIECE):  # type: ignore[attr-defined]
        kept[:] = [b"".join((*kept, data))[-_STDERR_KEPT:]]
