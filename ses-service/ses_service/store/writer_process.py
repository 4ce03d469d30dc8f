"""A writer in a process of its own: writing takes nothing from the interpreter that answers.

What is to be written goes over a pipe as plain rows.  A process that ends, takes nothing or does not answer
is a database that does not answer: everything that was under way is written again, by another process.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from typing import Any, NoReturn

from ses_service.store import errors
from ses_service.store.errors import DatabaseError
from ses_service.store.parts import SET_ASIDE, Part

_ROWS_AT_ONCE = 256  # put into bytes in a tenth of a millisecond
_PATIENCE = 60.0  # seconds for an answer, and until it takes more of what is written
_PATIENCE_EACH = 0.01  # seconds more for each row
_GRACE = 5.0


class WriterProcess:
    """The same as :class:`ses_service.store.writer.Writer`; belongs to one thread at a time, too.

    ``url``, ``password`` and ``owner`` are those of a :class:`ses_service.store.database.Database`.
    """

    def __init__(self, url: str, password: str | None, owner: str) -> None:
        self._made_of = url, password, owner, os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: int | None = None
        self._answers: Pipe | None = None

    def start(self) -> None:
        """Start the process, if none runs; it is ready half a second later.  Raises DatabaseError."""
        if self._process is not None:
            return
        path = os.pathsep.join(filter(None, sys.path))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from ses_service.store.writer import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError as error:
            raise DatabaseError(f"no process can be started to write it: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = os.dup(self._process.stdin.fileno())
        os.set_blocking(self._requests, False)
        self._answers = Pipe(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        self._send(self._made_of)

    def open(self) -> bool:
        """Take the right to write, as :meth:`ses_service.store.writer.Writer.open`."""
        self.start()
        self._send("open")
        return self._answer(_PATIENCE)

    def set_aside(self) -> bool:
        """Rename a damaged file, as :meth:`ses_service.store.writer.Writer.set_aside`."""
        self.start()
        self._send(SET_ASIDE)
        return self._answer(_PATIENCE)

    def write(self, parts: Iterable[Part], between: Callable[[], None] = lambda: None) -> None:
        """Write all parts in one transaction, as :meth:`ses_service.store.writer.Writer.write`."""
        if self._process is None:
            raise DatabaseError("the process that writes it does not run")
        rows = 0
        for part in parts:
            for values in _slices(part.values):
                between()
                self._send(part._replace(values=values))
                rows += len(values)
        if rows:
            self._send(None)
            self._answer(_PATIENCE + rows * _PATIENCE_EACH)

    def close(self) -> None:
        """Let the process end."""
        process = self._hang_up()
        if process is not None:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _send(self, message: object) -> None:
        assert self._requests is not None
        left = memoryview(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
        room = select.poll()
        room.register(self._requests, select.POLLOUT)
        try:
            while left:
                if not room.poll(_PATIENCE * 1000):
                    self._failed(f"took nothing for {_PATIENCE:.0f} s")
                left = left[os.write(self._requests, left) :]
        except OSError:
            self._failed("ended")

    def _answer(self, patience: float) -> bool:
        assert self._answers is not None
        try:
            if not self._answers.poll(patience):
                self._failed(f"did not answer within {patience:.0f} s")
            answer: bool | tuple[str, str] = self._answers.recv()
        except (EOFError, OSError):
            self._failed("ended")
        if isinstance(answer, tuple):
            name, message = answer
            raise getattr(errors, name)(message)
        return answer

    def _failed(self, how: str) -> NoReturn:
        process = self._hang_up()
        if process is not None:
            process.kill()
            process.wait()
        raise DatabaseError(f"the process that writes it {how}")

    def _hang_up(self) -> subprocess.Popen[bytes] | None:
        process, self._process = self._process, None
        if self._requests is not None:
            os.close(self._requests)
        if self._answers is not None:
            with suppress(OSError):
                self._answers.close()
        self._requests = self._answers = None
        return process


def _slices(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[start : start + _ROWS_AT_ONCE] for start in range(0, len(values), _ROWS_AT_ONCE))
