"""One program on another node: its streams, signals and end, as if it ran here.

The program's output goes where the caller says; standard input is passed on from the moment the program runs,
so that it is untouched if it cannot be.  Used by one thread; :meth:`Conversation.signal` by any.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ses.near.execution import frames
from ses.near.execution.connection import Connection, LeftError, LostError, NotStartedError
from ses.near.execution.run import Run
from ses.near.execution.watch import ANSWER_SECONDS, Watch, leave_signals

_PIECE = 1 << 16
_ON_THE_WAY = 64  # parts of standard input that the program has not taken yet


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended.  ``status``: exit status, or the signal's number, negative.  ``seconds``: while it
    ran there.  ``limits``: in words, how they were kept.  ``returned``: bytes of its output.
    ``start_seconds``: until the first program ran over this connection, without ``queued_seconds`` in the
    queue of Slurm; ``None``: not known.  ``waited_seconds``: for its turn in the node's own queue.
    """

    status: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    limits: str
    cores: float
    memory: float
    returned: int
    start_seconds: float | None
    queued_seconds: float | None
    waited_seconds: float

    @property
    def exit_status(self) -> int:
        """Return the status as a shell reports it."""
        return 128 - self.status if self.status < 0 else self.status


class Conversation:
    """Runs one program on another node, over a connection that others had or will have, or one of its own."""

    def __init__(self, run: Run, connection: Connection | None = None) -> None:
        """Who gives input to the program has a connection of its own, or the last use of it."""
        self._run = run
        self._own = connection is None
        self._connection = connection or Connection()
        self._runs = False
        self._early: list[int] = []
        self._taken = threading.Semaphore(_ON_THE_WAY)
        self._watch = Watch(self._connection.give_up)
        self._process: int | None = None
        self._unread: str | None = None  # why standard input did not all come

    @property
    def reached(self) -> bool:
        """Tell whether the node has answered, so that the program may run there."""
        return self._connection.reached

    @property
    def may_run(self) -> str:
        """Return in words what may still run when nobody waits for it any more."""
        which = "" if self._process is None else f" (process {self._process})"
        return f"{self._run.argv[0]} may still run on {self._run.node}{which}."

    def signal(self, number: int) -> None:
        """Send the program a signal; one that comes before it runs is sent when it does.

        If it asks the program to end, and nothing comes from the node from then on, :meth:`hold` soon raises
        LeftError.
        """
        self._watch.asked(number)
        if self._runs:
            self._connection.send(b"K", str(number).encode(), ANSWER_SECONDS)
        else:
            self._early.append(number)

    def leave(self) -> None:
        """Wait for nothing any more; a node that is reached ends the program as after :meth:`end`."""
        self._connection.abandon()

    def end(self) -> None:
        """End the program: SIGHUP, and SIGKILL 5 s later.  :meth:`hold` then raises LostError."""
        self._connection.end()

    def hold(
        self, output: Callable[[bytes], Any], errors: Callable[[bytes], Any], stdin: int | None
    ) -> Ended:
        """Run the program to its end; ``stdin`` is a descriptor to pass on, ``None``: it gets none.

        Raises NotStartedError with the reason, LostError, LeftError, and what ``output`` raises: the program
        then gets SIGHUP.
        """
        kept = False
        try:
            with self._watch:
                come, first = self._connection.begin(self._run)
                kept = first[0] == b"N"
                ended = self._attend(come, _begun(first), output, errors, stdin)
            kept = True
            return ended
        except (NotStartedError, LostError):
            if self._watch.given_up is None:
                raise
            why = f"{self._run.node} has not answered for {ANSWER_SECONDS:.0f} s. {self.may_run}"
            raise LeftError(why, self._watch.given_up) from None
        except Exception:
            raise
        except BaseException as stopped:  # a signal
            if not self._connection.leave():
                stopped.add_note(f"{self._run.node} has not answered. {self.may_run}")
            raise
        finally:
            self._runs = False
            if self._own or not kept:
                self._connection.close()

    def _attend(
        self, come: frames.Stream, begun: dict[str, Any],
        output: Callable[[bytes], Any], errors: Callable[[bytes], Any], stdin: int | None,
    ) -> Ended:  # fmt: skip
        self._process = begun.pop("process", None)
        self._runs = True
        while self._early:
            self.signal(self._early.pop(0))
        if stdin is None:
            self._connection.send(b"Z")
        else:
            threading.Thread(target=self._pass_on, args=(stdin,), daemon=True).start()
        begun["start_seconds"] = self._connection.start_seconds
        begun["queued_seconds"] = self._connection.queued_seconds
        ended = _received(come, begun, self._passing(output), self._passing(errors), self._on_frame)
        if self._unread is not None:
            raise LostError(f"Standard input cannot be read: {self._unread}.")
        if ended is None:
            lost = f"The connection to {self._run.node} was lost while {self._run.argv[0]} ran there."
            raise LostError(f"{lost} {self.may_run}")
        return ended

    def _passing(self, to: Callable[[bytes], Any]) -> Callable[[bytes], None]:
        def pass_on(data: bytes) -> None:
            with self._watch.passing_on():
                to(data)

        return pass_on

    def _on_frame(self, kind: bytes) -> None:
        self._watch.received()
        if kind == b"A":
            self._taken.release()
        elif kind == b"S":
            self._watch.answered()

    def _pass_on(self, descriptor: int) -> None:
        leave_signals()
        is_terminal = os.isatty(descriptor)
        try:
            while data := os.read(descriptor, _PIECE):
                self._taken.acquire()
                self._connection.send(b"I", data)
        except OSError as error:
            if not is_terminal:  # one that is gone has nothing more to say
                self._unread = error.strerror
                self._connection.end()
                return
        self._connection.send(b"Z")


def answered(
    come: frames.Stream, run: Run, output: Callable[[bytes], Any], errors: Callable[[bytes], Any]
) -> Ended:
    """Return how a run ended that nobody attended, from all that the runner sent.

    Raises NotStartedError with the reason, LostError, and what ``output`` raises.
    """
    ended = None
    try:
        if frames.read(come) is not None and (first := frames.read(come)) is not None:
            begun = {**_begun(first), "start_seconds": None, "queued_seconds": None}
            del begun["process"]
            ended = _received(come, begun, output, errors, lambda _: None)
    except frames.NoFrameError as error:
        raise NotStartedError(f"what answers on {run.node} is not the runner: {error}") from None
    if ended is None:
        raise LostError(f"What {run.argv[0]} printed on {run.node} is not whole.")
    return ended


def _begun(first: tuple[bytes, bytes]) -> dict[str, Any]:
    if first[0] == b"N":
        raise NotStartedError(first[1].decode("utf-8", "replace"))
    begun: dict[str, Any] = json.loads(first[1])
    return begun


def _received(
    come: frames.Stream,
    begun: dict[str, Any],
    output: Callable[[bytes], Any],
    errors: Callable[[bytes], Any],
    on_frame: Callable[[bytes], Any],
) -> Ended | None:
    """Pass on what a program prints until its end; ``None``: the end was not reported.  Raises LostError.

    ``on_frame`` is called with the kind of each frame that came.
    """
    returned = 0
    while (frame := frames.read(come)) is not None:
        kind, data = frame
        on_frame(kind)
        if kind == b"O":
            returned += len(data)
            output(data)
        elif kind == b"E":
            errors(data)
        elif kind == b"F":
            raise LostError(data.decode("utf-8", "replace"))
        elif kind == b"X":
            return Ended(**json.loads(data), **begun, returned=returned)
    return None
