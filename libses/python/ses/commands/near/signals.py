"""How commands end that a signal ends: with the status a shell expects, and nothing is left."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ses.output import console, line

PIPE_CLOSED = 128 + signal.SIGPIPE


@contextmanager
def interruptible(command: str) -> Iterator[None]:
    """End with 128 and the number on INT, TERM and HUP, after what is held has been given up.

    What is left on nodes that do not answer is said (notes of the SystemExit).  A signal that was ignored
    stays so, as under nohup.
    """
    handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    wanted = [number for number in handled if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _stop) for number in wanted}
    try:
        yield
    except SystemExit as stopped:
        for note in getattr(stopped, "__notes__", ()):
            line(console(sys.stderr), f"{command}: {note}")
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
