"""Whether a node still answers, from the moment that a signal asked its program to end.

A program may take its time after a signal, so what counts is the runner: it says that the signal arrived.
A node that died says nothing, and ssh takes most of a minute to notice that
(:func:`ses.near.execution.executors.ssh`); a user who pressed Ctrl-C shall not wait for it.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ANSWER_SECONDS = 3.0
_LOOK_SECONDS = 0.1
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def leave_signals() -> None:
    """Leave this process's signals to its main thread: only there do they end a wait for the node.

    One that comes while the process is stopped would else go to any of its threads.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


class Watch:
    """Calls ``give_up`` when nothing came from a node for ANSWER_SECONDS after a signal.

    ``given_up``: the signal.  :meth:`asked` may be called by a signal's handler, the others by one thread.
    """

    def __init__(self, give_up: Callable[[], object]) -> None:
        self.given_up: int | None = None
        self._give_up = give_up
        self._numbers: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # may be used by handlers
        self._waiting = self._passing = False
        self._since = 0.0

    def __enter__(self) -> Watch:
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting = False
        self._numbers.put(None)

    def asked(self, number: int) -> None:
        """Note that a signal is being sent."""
        if number in _ENDING:
            self._waiting, self._since = True, time.monotonic()
            self._numbers.put(number)

    def answered(self) -> None:
        """Note that the node has the signal."""
        self._waiting = False

    def received(self) -> None:
        """Note that something came from the node."""
        self._since = time.monotonic()

    @contextmanager
    def passing_on(self) -> Iterator[None]:
        """While what came is passed on nothing is received: its reader may take its time."""
        self._passing = True
        try:
            yield
        finally:
            self._since = time.monotonic()
            self._passing = False

    def _look(self) -> None:
        leave_signals()
        while (number := self._numbers.get()) is not None:
            while self._waiting:
                if not self._passing and time.monotonic() - self._since >= ANSWER_SECONDS:
                    self.given_up = number
                    self._give_up()
                    return
                time.sleep(_LOOK_SECONDS)
