"""Running the program of ``ses run-near`` with the streams and signals of this process, there or here."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ses_client.errors import EXIT_CANNOT_RUN, EXIT_NO_PROGRAM

from ses.near.execution.connection import Connection, LeftError
from ses.near.execution.conversation import Conversation, Ended
from ses.near.run_near import Wanted

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class StoppedError(Exception):
    """A signal came while the node was being reached: no program was running that it could be sent to."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_there(wanted: Wanted, node: str, connection: Connection) -> Ended:
    """Run the program on a node with this process's streams and signals.

    Raises NotStartedError (nothing was read or written), StoppedError, LostError, LeftError (soon after a
    signal that the node does not answer, and at once at the second SIGINT), and BrokenPipeError when nobody
    reads the output any more.
    """
    conversation = Conversation(wanted.run(node), connection)
    interrupted = False

    def forward(number: int) -> None:
        nonlocal interrupted
        if not conversation.reached:
            raise StoppedError(number)
        if number == signal.SIGINT and interrupted:
            conversation.leave()
            raise LeftError(f"It was interrupted again. {conversation.may_run}", number)
        interrupted = interrupted or number == signal.SIGINT
        conversation.signal(number)

    with _signals(forward), connection:
        return conversation.hold(to_descriptor(1), to_descriptor(2), _input())


@dataclass(frozen=True, slots=True)
class Local:
    """How a local run ended, as a shell reports it."""

    exit_status: int
    seconds: float
    cpu_seconds: float


def run_here(wanted: Wanted) -> Local:
    """Run the program here, with this process's streams and signals."""
    argv = wanted.command(there=False)
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []  # signals that came before there was a program

    def forward(number: int) -> None:
        by_terminal = number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground()
        if process is None:
            early.append(number)
        elif not by_terminal:  # the terminal sends these to the whole group
            process.send_signal(number)

    with _signals(forward):
        began = time.monotonic()
        try:
            process = subprocess.Popen(argv)
        except FileNotFoundError:
            sys.stderr.write(f"{argv[0]}: no such program\n")
            return Local(EXIT_NO_PROGRAM, 0.0, 0.0)
        except OSError as error:
            sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
            return Local(EXIT_CANNOT_RUN, 0.0, 0.0)
        for number in early:
            process.send_signal(number)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    code = process.returncode
    seconds = time.monotonic() - began
    return Local(128 - code if code < 0 else code, seconds, used.ru_utime + used.ru_stime)


@contextmanager
def _signals(forward: Callable[[int], None]) -> Iterator[None]:
    # what nohup or "&" lets a program ignore stays ignored
    wanted = [number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda received, _: forward(received)) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def to_descriptor(descriptor: int) -> Callable[[bytes], None]:
    """Return what writes bytes to a descriptor, all of them."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    return write


def _input() -> int | None:
    """Return standard input unless it is a terminal that belongs to others: reading it would stop us."""
    with contextlib.suppress(OSError):
        os.fstat(0)
        return 0 if not os.isatty(0) or _in_foreground() else None
    return None


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
