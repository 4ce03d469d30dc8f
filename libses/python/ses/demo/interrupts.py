"""Being asked to stop, without being torn out of the middle of a step.

A signal only leaves a note; ``check()``, called between steps and while waiting, turns the note
into StoppedError.  So no step is ever half done when the undoing starts, and a second Ctrl-C
cannot break the undoing.

Ctrl-C at a terminal also reaches programs that were started: what fails after a signal, before anything
is undone, was stopped by it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Self

from rich.console import Console

from ses.demo.faults import DemoError, StoppedError
from ses.output import line
from ses.progress import Progress

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PAUSE_SECONDS = 0.05


class Interrupts:
    """Catches the signals that ask a program to stop while it is entered.  Main thread only.

    A signal that was ignored stays so, as under nohup.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._undoing = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._received = number

    @contextmanager
    def undoing(self, progress: Callable[[str], None]) -> Iterator[ExitStack]:
        """Yield a stack for what undoes what is made; while it does that ``check()`` raises nothing."""
        with ExitStack() as undo:
            try:
                yield undo
            except Exception:
                self.check()
                raise
            finally:
                self._undoing = True
                progress("stopping and removing everything")
        self._undoing = False

    def check(self) -> None:
        """Raise StoppedError if a signal came."""
        if self._received is not None and not self._undoing:
            raise StoppedError(self._received)

    def pause(self, seconds: float = _PAUSE_SECONDS) -> None:
        """Sleep, and raise StoppedError soon after a signal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _PAUSE_SECONDS))
        self.check()

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until a condition holds; raises DemoError with ``what`` after ``seconds``."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= end:
                raise DemoError(f"{what} (waited {seconds:g} s).")
            self.pause()
        self.check()


@contextmanager
def stoppable(
    out: Console, status: Callable[[int], int] = lambda number: 128 + number
) -> Iterator[tuple[Interrupts, Progress]]:
    """Yield what long work asks whether it is to stop, and by what it says on ``out`` how far it is.

    Where it was stopped by a signal, the program ends with the ``status`` of that number.
    """
    with Interrupts() as interrupts, Progress(out) as progress:
        try:
            try:
                yield interrupts, progress
            except Exception:
                progress.clear()
                interrupts.check()
                raise
        except StoppedError as stopped:
            line(out, "Stopped; everything that was made is removed again.")
            raise SystemExit(status(stopped.signal_number)) from None
